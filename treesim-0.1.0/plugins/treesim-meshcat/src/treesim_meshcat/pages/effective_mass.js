// How heavy a robot feels at a frame: the principal axes of a symmetric matrix.

const SWEEPS = 8;  // of rotations: each squares what is left off the diagonal
const UNMOVED = 1e-9;  // times the largest eigenvalue: what moves less does not move at all

// Eigenvalues of a symmetric matrix (3, 3), smallest first, and its eigenvectors as columns, right-handed, by Jacobi's
// rotations (Golub, Van Loan 2013, section 8.5).
function principalAxes(symmetric) {
    const A = symmetric.map((row) => [...row]), V = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
    const rotate = (rows, p, q, c, s) => {
        for (const row of rows) [row[p], row[q]] = [c * row[p] - s * row[q], s * row[p] + c * row[q]];
    };
    for (let sweep = 0; sweep < SWEEPS; sweep++) {
        for (const [p, q] of [[0, 1], [0, 2], [1, 2]]) {
            if (A[p][q] === 0) continue;
            const tau = (A[q][q] - A[p][p]) / (2 * A[p][q]);
            const t = (tau >= 0 ? 1 : -1) / (Math.abs(tau) + Math.hypot(1, tau)), c = 1 / Math.hypot(1, t), s = t * c;
            rotate(A, p, q, c, s);
            [A[p], A[q]] = [A[p].map((x, i) => c * x - s * A[q][i]), A[q].map((x, i) => s * A[p][i] + c * x)];
            rotate(V, p, q, c, s);
        }
    }
    const order = [0, 1, 2].sort((i, j) => A[i][i] - A[j][j]);
    const [x, y, z] = order.map((k) => V.map((row) => row[k]));
    const cross = [x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]];
    const sign = Math.sign(cross[0] * z[0] + cross[1] * z[1] + cross[2] * z[2]);
    return {values: order.map((k) => A[k][k]), axes: [0, 1, 2].map((i) => [x[i], y[i], sign * z[i]])};
}

// The masses [kg] along the principal axes of Λ^-1 (3, 3), largest first, null along which nothing moves.
function effectiveAlong(inverse) {
    const {values, axes} = principalAxes(inverse), least = UNMOVED * Math.max(values[2], Number.MIN_VALUE);
    return {axes, masses: values.map((value) => (value > least ? 1 / value : null))};
}
