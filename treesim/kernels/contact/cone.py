"""Exact solution of one contact with Coulomb friction, for fixed other impulses; Signorini and Coulomb, not relaxed.

The relative velocity at the contact is sigma = A lambda + b, tangents first and the normal last. The contact is open
(lambda = 0, sigma_n >= 0), sticks (sigma = 0, |lambda_t| <= mu lambda_n), or slips (sigma_n = 0, |lambda_t| = mu
lambda_n, sigma_t = -s lambda_t with s >= 0). Open is tested before stick, and stick before slip. Slip has the largest
possible s, so that the result is defined where several solutions exist (large mu).
For given s, lambda_t = -(Abar + s 1)^-1 c, where Abar and c result from A and b with sigma_n = 0. s is the root of
F(s) = |lambda_t| - mu lambda_n. It is found by Newton's method in u = 1 / (t + s), t = tr(Abar) / 2, in which F is
nearly linear, within a bracket in closed form.
"""

from ..algebra.linear import Symmetric, Vector
from ..algebra.numbers import maximum, sqrt

NEWTON_STEPS = 30  # at most: three to six are taken
THIRD = 1 / 3  # products take an eighth of the time of quotients
CLOSE = 1e-15  # of u: Newton's method ends where a step is smaller


def shear(A):
    """Abar (xx, yy, xy): A_tt - a a' / A_nn, with a = A_tn."""
    return (
        A.xx - A.xz * A.xz / A.zz,
        A.yy - A.yz * A.yz / A.zz,
        A.xy - A.xz * A.yz / A.zz,
    )


def tangential(c1, c2, p, B, t, u):
    """-(Abar + s 1)^-1 c for u = 1 / (t + s) and Abar = [[t + p, B], [B, t - p]]."""
    f = -u / (1 - (p * p + B * B) * u * u)
    return f * (c1 - u * (p * c1 + B * c2)), f * (c2 - u * (B * c1 - p * c2))


def normal(A, b, x, y):
    """lambda_n with sigma_n = 0 under the tangential impulse (x, y)."""
    return -(b.z + A.xz * x + A.yz * y) / A.zz


def excess(A, b, mu, c1, c2, p, B, t, u):
    """F = |lambda_t| - mu lambda_n at u."""
    x, y = tangential(c1, c2, p, B, t, u)
    return sqrt(x * x + y * y) - mu * normal(A, b, x, y)


def slope(A, mu, c1, c2, p, B, t, u):
    """dF/du: with w = lambda_t, dw/du = (dw/ds) (ds/du) = (Abar + s 1)^-1 w / u^2."""
    x, y = tangential(c1, c2, p, B, t, u)
    dx, dy = tangential(x, y, p, B, t, u)
    dx, dy = -dx / (u * u), -dy / (u * u)
    return (x * dx + y * dy) / maximum(sqrt(x * x + y * y), 1e-300) + mu * (A.xz * dx + A.yz * dy) / A.zz


def slip(A, b, mu, c1, c2, xx, yy, B):
    """Return the impulse of a contact that slips."""
    t, p = (xx + yy) / 2, (xx - yy) / 2
    least = t - sqrt(p * p + B * B)
    size = sqrt(c1 * c1 + c2 * c2)
    push = sqrt(A.xz * A.xz + A.yz * A.yz) / A.zz
    far = maximum(size * (1 + mu * push) * A.zz / (-mu * b.z) - least, 0)  # F(far) <= 0 < F(0)
    low, high = 1 / (t + far), 1 / t
    u = low
    taken, moved = u * 0, u
    while taken < NEWTON_STEPS and moved > CLOSE * u:
        F = excess(A, b, mu, c1, c2, p, B, t, u)
        if F > 0:
            high = u
        else:
            low = u
        wanted = u - F / slope(A, mu, c1, c2, p, B, t, u)
        if not (low <= wanted and wanted <= high):  # not strict: a root that is found stays where it is
            wanted = (low + high) / 2
        moved = maximum(wanted - u, u - wanted)
        u = wanted
        taken += 1
    x, y = tangential(c1, c2, p, B, t, u)
    z = maximum(normal(A, b, x, y), 0)
    scaled = mu * z / maximum(sqrt(x * x + y * y), 1e-300)
    return Vector(scaled * x, scaled * y, z)


def contact_impulse(A, b, mu):
    """Return the impulse lambda of one contact with sigma = A lambda + b, as in the module's docstring.

    A must be symmetric and positive definite. A contact with negative mu is open.
    """
    zero = b.z * 0
    found = Vector(zero, zero, zero)
    if b.z < 0 and mu >= 0:
        xx, yy, B = shear(A)
        c1, c2 = b.x - A.xz * b.z / A.zz, b.y - A.yz * b.z / A.zz
        if mu == 0:
            found = Vector(zero, zero, -b.z / A.zz)
        else:
            det = xx * yy - B * B
            x, y = (B * c2 - yy * c1) / det, (B * c1 - xx * c2) / det
            z = normal(A, b, x, y)
            if z >= 0 and x * x + y * y <= mu * mu * z * z:
                found = Vector(x, y, z)
            else:
                found = slip(A, b, mu, c1, c2, xx, yy, B)
    return found


def cone_projection(x, mu):
    """Return the projection of x on the cone |x_t| <= mu x_n; zero if mu is negative."""
    square, most = x.x * x.x + x.y * x.y, mu * x.z
    found = x
    if mu < 0:
        found = Vector(x.x * 0, x.x * 0, x.x * 0)
    elif square > most * most or x.z < 0:
        length = sqrt(square)
        z = maximum((x.z + mu * length) / (1 + mu * mu), 0)
        f = mu * z / maximum(length, 1e-300)
        found = Vector(f * x.x, f * x.y, z)
    return found


def block_at(G, r):
    """Return the 3x3 block on G's diagonal at row r."""
    return Symmetric(G[r, r], G[r + 1, r + 1], G[r + 2, r + 2], G[r, r + 1], G[r, r + 2], G[r + 1, r + 2])


def violation(A, sigma, impulse, mu, exact):
    """Return the complementarity residual of a contact as a velocity, by the natural map (Le Lidec et al. 2023).

    It is |w lambda - P(w lambda - sigma - (0, 0, mu |sigma_t|))| with w = tr(A) / 3. exact: 0 omits the shift (the
    relaxation).
    """
    w = (A.xx + A.yy + A.zz) * THIRD
    shift = exact * mu * sqrt(sigma.x * sigma.x + sigma.y * sigma.y)
    x, y, z = w * impulse.x, w * impulse.y, w * impulse.z
    P = cone_projection(Vector(x - sigma.x, y - sigma.y, z - sigma.z - shift), mu)
    x, y, z = x - P.x, y - P.y, z - P.z
    return maximum(maximum(maximum(x, -x), maximum(y, -y)), maximum(z, -z))
