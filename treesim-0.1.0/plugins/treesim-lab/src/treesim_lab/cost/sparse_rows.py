"""Cost of the operational space by sparse rows (F10 Table 1): the kernel source, run on numbers that count."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from treesim.dynamics.operational.frames import frame_codes
from treesim.dynamics.operational.space import FLOOR, RTOL
from treesim.dynamics.operational.task_rows import CENTERS, NO_FORCES
from treesim.engine.interpreter import Tally, run
from treesim.kernels.dynamics.ltdl import solve_lower_matrix
from treesim.kernels.kinematics.frame_motion import NUMBERS
from treesim.kernels.operational import sparse_rows
from treesim.kernels.operational.consistent_inverse import consistent_inverse_states
from treesim.kernels.operational.operational_space import operational_rows_states
from treesim.model.tree import Tree

from .counting import SEEDS, Count
from .operations import Operations

kernels: Any = sparse_rows
Make = Callable[..., np.ndarray]  # an array, of this shape, of numbers that are not known beforehand


class SparseRows:
    """Counts of the operations on six rows for each of some bodies, on the topology of a robot.

    Entries along the tree's paths are unknown, others are zero. The cost of one count is that of the operation,
    about 1 us for each multiplication.
    """

    def __init__(self, robot: Tree, bodies: Sequence[int]) -> None:
        depth = robot.dof_topology.dof_depth
        self.path, self.start = (robot.dof_parent - 1, depth - 1), np.cumsum(depth) - depth
        self.last = np.array([robot.last_dof(body) - 1 for body in bodies for _ in range(6)], dtype=np.int64)
        self.n, self.m, self.nnz = robot.nv, self.last.size, int(depth.sum())

    def jacobian_product(self) -> Count:
        """Return the count of J x."""
        return _counted(lambda make: kernels.product(*self._rows(make), make(self.n), make(self.m)))

    def jacobian_transpose_product(self) -> Count:
        """Return the count of y + Jᵀ x."""
        return _counted(lambda make: kernels.add_transposed_product(*self._rows(make), make(self.m), make(self.n)))

    def triangular_rows_ltl(self) -> Count:
        """Return the count of Y = J L⁻¹."""
        return _counted(lambda make: self._divide(kernels.divide_ltl, make))

    def triangular_rows_ltdl(self) -> Count:
        """Return the count of Y_d = J L_d⁻¹ and Y_D = Y_d D⁻¹."""
        return _counted(lambda make: self._divide(kernels.divide_ltdl, make))

    def gram_product(self) -> Count:
        """Return the count of Λ⁻¹ = Y_D Y_dᵀ."""
        rows, square = (self.m, self.n), (self.m, self.m)
        return _counted(lambda make: kernels.multiply_rows(*self._rows(make), make(*rows), make(*square)))

    def weighted_inverse(self) -> Count:
        """Return the count of J̄ = L_d⁻¹ (Y_Dᵀ Λ)."""
        path = np.empty(self.n, np.int64)

        def multiply(make: Make) -> None:
            out = make(self.n, self.m)
            kernels.add_transposed_products(*self._rows(make), make(self.m, self.m), out, path)
            solve_lower_matrix(*self.path, self.start, make(self.nnz), out)

        return _counted(multiply)

    def null_space(self) -> Count:
        """Return the count of N = 1 - J̄ J."""
        path = np.empty(self.n, np.int64)
        square = (self.n, self.n)
        return _counted(lambda make: kernels.null_space(*self._rows(make), make(self.n, self.m), make(*square), path))

    def _rows(self, make: Make) -> tuple[Any, ...]:
        return *self.path, self.last, make(self.m, self.n)

    def _divide(self, divide: Callable[..., None], make: Make) -> None:
        divide(*self.path, self.start, make(self.nnz), self.last, make(self.m, self.n), make(self.m, self.n))


def operational_space_of(robot: Tree, frames: Sequence[str]) -> Count:
    """Return the count of J, Λ⁻¹, β, Λ, J̄ and N of frames, all results of `operational_space`.

    Raises ConvergenceError if Λ⁻¹ is singular, since eigenvalues are computed by a library. Takes about 1 us
    for each operation.
    """
    rng, tally = np.random.default_rng(SEEDS[0]), Tally()
    n, k = robot.nv, len(frames)
    m = 6 * k
    constants = (robot.ints, robot.reals, *frame_codes(robot, tuple(frames), "local_world_aligned"), CENTERS[False])
    state = (tally.variables(robot.random(rng)), tally.variables(rng.normal(size=n)), NO_FORCES)
    shapes = [(k, NUMBERS), (m, n), (m, n), (robot.nnz,), (m, m), (m,)]
    _, J, Y, factors, inverse, _ = run(operational_rows_states, constants, state, shapes, tally.number)
    rows = (inverse.reshape(-1), J.reshape(-1), Y.reshape(-1), factors)
    limits, shapes = np.array([RTOL, FLOOR]), [(m, m), (n, m), (n, n)]
    run(consistent_inverse_states, (*constants, limits), rows, shapes, tally.number)
    return Count(Operations(**tally.operations), tally.depth)


def _counted(operation: Callable[[Make], None]) -> Count:
    """Return the count of an operation on arrays of unknown numbers."""
    tally = Tally()
    operation(lambda *shape: tally.variables(np.ones(shape)).reshape(shape))
    return Count(Operations(**tally.operations), tally.depth)
