"""Sine and cosine computed together, as by the generic engine, and the angle of a point.

Range reduction after Cody and Waite with pi/2 in three parts, then minimax polynomials on [-pi/4, pi/4]
(the coefficients are those of fdlibm's __kernel_sin and __kernel_cos). For |x| <= 5e5 the error is below
one unit in the last place of the larger of the two; for larger angles the C library is used.
"""

from math import cos, sin

from ..kernels.algebra.numbers import absolute, less, select, vectorized

LARGEST = 5e5
TWO_OVER_PI = 6.36619772367581382433e-01
# pi/2 in parts of 33 bits: products with an integer below 2^20 are exact
PI_2_HIGH, PI_2_MIDDLE, PI_2_LOW = 1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21
ROUND = 6755399441055744.0  # 1.5 * 2^52: adding and subtracting it rounds to the nearest integer
S1, S2, S3 = -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04
S4, S5, S6 = 2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10
C1, C2, C3 = 4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05
C4, C5, C6 = -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11

FAR = 0.4375  # beyond, the angle is pi / 4 and that of (t - 1) / (t + 1)
PI, PI_LOW = 3.14159265358979311600e00, 1.22464679914735317723e-16  # and what is left of it
# (t - atan t) / t^3 as a polynomial of t^2
A0, A1, A2 = 3.33333333333329318027e-01, -1.99999999998764832476e-01, 1.42857142725034663711e-01
A3, A4, A5 = -1.11111104054623557880e-01, 9.09088713343650656196e-02, -7.69187620504482999495e-02
A6, A7, A8 = 6.66107313738753120669e-02, -5.83357013379057348645e-02, 4.97687799461593236017e-02
A9, A10 = -3.65315727442169155270e-02, 1.62858201153657823623e-02


def sincos_near_zero(r):
    """(sin r, cos r) for |r| <= pi/4."""
    z = r * r
    s = r + r * z * (S1 + z * (S2 + z * (S3 + z * (S4 + z * (S5 + z * S6)))))
    half = 0.5 * z
    w = 1.0 - half
    return s, w + (((1.0 - w) - half) + z * z * (C1 + z * (C2 + z * (C3 + z * (C4 + z * (C5 + z * C6))))))


def sincos(x):
    """(sin x, cos x)."""
    if not abs(x) <= LARGEST:
        return sin(x), cos(x)
    turns = (x * TWO_OVER_PI + ROUND) - ROUND
    r = ((x - turns * PI_2_HIGH) - turns * PI_2_MIDDLE) - turns * PI_2_LOW
    s, c = sincos_near_zero(r)
    quadrant = int(turns) & 3
    first, second = (c, s) if quadrant & 1 else (s, c)
    return (-first if quadrant & 2 else first), (-second if (quadrant + 1) & 2 else second)


def sincos_without_branch(x):
    """(sin x, cos x) for |x| <= LARGEST, of a number or of a vector (`kernels.algebra.state_lanes`)."""
    turns = (x * TWO_OVER_PI + ROUND) - ROUND
    r = ((x - turns * PI_2_HIGH) - turns * PI_2_MIDDLE) - turns * PI_2_LOW
    s, c = sincos_near_zero(r)
    half = (turns * 0.5 - 0.25 + ROUND) - ROUND  # turns = 2 half + odd
    odd = turns - 2 * half
    full = (half * 0.5 - 0.25 + ROUND) - ROUND
    first, second = select(odd, c, s), select(odd, s, c)
    opposite = half - 2 * full
    return select(opposite, -first, first), select(odd != opposite, -second, second)


def sincos_on_lanes(x):
    """(sin x, cos x) of a vector of numbers."""
    first, second = sincos_without_branch(x)
    if not abs(x) <= LARGEST:
        first, second = sin(x), cos(x)
    return first, second


def put_sincos(x, sine, cosine):
    """Write (sin x, cos x) of all numbers of an array, a vector at a time."""
    for k in vectorized(range(x.size)):
        sine[k], cosine[k] = sincos_without_branch(x[k])
    for k in range(x.size):
        if not abs(x[k]) <= LARGEST:
            sine[k], cosine[k] = sin(x[k]), cos(x[k])


def arctangent(y, x):
    """Angle of the point (x, y), on numbers of any type; coefficients of fdlibm's atan.

    Unlike in C, the sign of a zero is ignored: the angle of (-1, -0.0) is pi, that of (0, 0) zero.
    """
    far_x, far_y = absolute(x), absolute(y)
    steep = less(far_x, far_y)
    large, small = select(steep, far_y, far_x), select(steep, far_x, far_y)  # unlike extremes, they keep NaN
    t = small / (large + (1.0 - less(0.0, large)))  # of an angle up to pi / 4
    far = less(FAR, t)
    t = select(far, (t - 1.0) / (t + 1.0), t)
    z = t * t
    series = A4 + z * (A5 + z * (A6 + z * (A7 + z * (A8 + z * (A9 + z * A10)))))
    series = A0 + z * (A1 + z * (A2 + z * (A3 + z * series)))
    angle = t - t * (z * series)
    angle = select(far, PI / 4 + (angle + PI_LOW / 4), angle)
    angle = select(steep, PI / 2 - (angle - PI_LOW / 2), angle)
    angle = select(less(x, 0.0), PI - (angle - PI_LOW), angle)
    return select(less(y, 0.0), -angle, angle)
