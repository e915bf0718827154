"""Stages of the constraint-force methods, block by block, for `block_counts`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, pairwise
from types import ModuleType
from typing import Any

from ..kernels.algebra.tables import body_transform_at, motion_at, put_motion, put_transform
from ..kernels.kinematics.bodies import body_transform, body_velocity
from ..kernels.published.parallel import constraint_force as kernel
from ..kernels.published.parallel import constraint_force_branches_first as branches_first
from ..kernels.published.parallel import constraint_force_grouped as grouped
from ..kernels.published.parallel import constraint_force_stages
from ..kernels.published.parallel.heavy_paths import Paths
from ..model.tree import Tree
from .block_counts import Block, Counting, Stages, each, levels, onto_parents
from .heavy_paths import NAMES, block_sizes, main_chains


def path_stages(robot: Tree, paths: Paths, solver: ModuleType, counting: Counting) -> Stages:
    """Return the stages in the table of `paths`."""
    w = kernel.work_in(robot.n_bodies + 1, counting.numbers((robot.n_bodies + 1) * (kernel.NUMBERS + solver.EXTRA)))
    state = counting.q, counting.v, counting.tau, counting.f_ext, counting.qdd

    def work(stage: int, low: int, high: int) -> None:
        constraint_force_stages.work_at(counting.tree, paths, w, stage, low, high, *state, solver)

    return table_stages(paths, solver, work)


def table_stages(
    paths: Paths,
    solver: ModuleType,
    work: Callable[[int, int, int], Any],
    wanted: Callable[[int], bool] = bool,
    names: dict[int, str] = NAMES,
) -> Stages:
    """Yield the stages in the table of `paths`, with blocks that call `work(stage, place, place + 1)`.

    wanted: predicate on the first body of a path, which selects paths. names: of the kinds of stage.
    """
    for s, (what, turn) in enumerate(paths.stages[: int(paths.sizes[1]), :2].tolist()):
        sizes = block_sizes(paths, s, solver.elimination_block, solver.substitution_block)
        ranges = [(place, paths.order[place : place + size]) for place, size in sizes]
        blocks = [
            Block(tuple(bodies.tolist()), partial(work, s, place, place + 1))
            for place, bodies in ranges
            if wanted(int(paths.order[paths.start[place]]))
        ]
        is_one_of_several = names[what] in ("elimination", "substitution") or "sweep" in names[what]
        yield f"{names[what]}, turn {turn + 1}" if is_one_of_several else names[what], blocks


class _Chains:
    """Main chains, and the blocks that both methods on main chains have in common."""

    def __init__(self, robot: Tree, counting: Counting, paths: Paths, w: Any) -> None:
        self.robot, self.counting, self.tree = robot, counting, counting.tree
        self.paths, self.w = paths, w
        self.chains = main_chains(self.paths, self.tree.parent)
        self.bodies = range(1, robot.n_bodies + 1)

    def body(self, place: int) -> int:
        """Return the body at a place in the table of paths."""
        return int(self.paths.order[place])

    def motion(self) -> Stages:
        """Yield the stages of transforms, velocities and biases."""
        tree, w, q, v, tau = self.tree, self.w, self.counting.q, self.counting.v, self.counting.tau

        def move(i: int) -> None:
            X = body_transform_at(tree, w.X, i)
            put_motion(w.V, i, body_velocity(tree, i, X, motion_at(w.V, tree.parent[i]), v))

        kernel.put_nothing(tree, w)
        yield "transforms", each(self.bodies, lambda i: put_transform(w.X, i, body_transform(tree, i, q)))
        for d, bodies in levels(self.robot):
            yield f"velocities, depth {d}", each(bodies, move)
        yield "biases", each(self.bodies, lambda i: kernel.body_bias(tree, w, i, v, tau))

    def path_levels(self) -> Iterator[tuple[int, range]]:
        """Yield the levels of paths, outermost first, with the places of their bodies."""
        edges = self.paths.level_start[: int(self.paths.sizes[0]) + 1].tolist()
        return enumerate((range(a, b) for a, b in pairwise(edges)), start=1)

    def inertia(self, i: int) -> None:
        """Compute body i's inverse inertia and acceleration without constraint forces."""
        kernel.inverse_inertia(self.tree, self.paths, self.w, i)
        kernel.given_acceleration(self.tree, self.paths, self.w, i)

    def equation(self, i: int) -> None:
        """Compute the equations of joint i."""
        kernel.equation_matrix(self.tree, self.paths, self.w, i)
        kernel.equation_vector(self.tree, self.paths, self.w, i)

    def accelerations(self, bodies: list[int]) -> Stages:
        """Yield the stages of bodies' and joints' accelerations from constraint forces."""
        tree, paths, w = self.tree, self.paths, self.w
        yield "accelerations", each(bodies, lambda i: kernel.acceleration(tree, paths, w, i))
        yield "joint accelerations", each(bodies, lambda i: kernel.joint_acceleration(tree, w, i, self.counting.qdd))

    def branches_move(self, bodies: set[int]) -> Stages:
        """Yield the stages of accelerations of side branches, from the base outward."""
        move = partial(branches_first.move_branch, self.tree, self.w, qdd=self.counting.qdd)
        for d, level in levels(self.robot):
            yield f"branches move, depth {d}", each((i for i in level if i in bodies), move)


def branches_first_stages(robot: Tree, counting: Counting) -> Stages:
    """Yield the stages: side branches inward, main chains with one block each, side branches outward."""
    c = _Chains(robot, counting, *branches_first.scratch_for(counting.tree, counting.q))
    main = [c.body(place) for place in chain.from_iterable(c.chains)]
    given = c.tree, c.paths, c.w
    yield from c.motion()
    for level, places in c.path_levels():
        branch = [i for i in map(c.body, places) if i not in main]
        yield f"side branches, level {level}", each(branch, partial(branches_first.yield_to_branch, *given))
    yield "inertias", each(main, c.inertia)
    yield "equations", each(main, c.equation)
    solve = partial(branches_first.solve_equations, *given)
    blocks = [Block(tuple(map(c.body, one)), partial(solve, one.start)) for one in c.chains]
    yield "elimination and substitution", blocks
    yield from c.accelerations(main)
    yield from c.branches_move(set(c.bodies) - set(main))


def grouped_stages(robot: Tree, counting: Counting) -> Stages:
    """Yield the stages: all equations, then the groups of every main chain from its tip to its base and back."""
    paths, w, g = grouped.scratch_for(counting.tree, counting.q)
    c, tree = _Chains(robot, counting, paths, w), counting.tree
    held = [i for i in c.bodies if g.yields[i] == 0]
    yield from c.motion()
    for level, places in c.path_levels():
        work = partial(grouped.bring_force_inward, tree, paths, w, g)
        yield f"given forces, level {level}", [Block((c.body(place),), partial(work, place)) for place in places]
    yield "inertias", each(held, c.inertia)
    yield "equations", each(held, lambda i: grouped.equation(tree, paths, w, i))
    yield from _groups(c, g)
    reacting = [i for i in held if tree.parent[i] > 0 and paths.heavy[tree.parent[i]] != i]
    yield "reactions", onto_parents(robot, reacting, lambda i: grouped.react(tree, w, i))
    yield from c.accelerations(held)
    yield from c.branches_move({i for i in c.bodies if g.yields[i] == 1})


def _groups(c: _Chains, g: Any) -> Stages:
    """Yield the stages of all main chains' groups: equations, elimination from the tips, substitution from the base."""
    longest = max(map(len, c.chains), default=0)

    def at(places: Iterable[int], work: Callable[[int], Any]) -> list[Block]:
        ranges = [(place, g.members[g.first[place] : g.first[place + 1]]) for place in places]
        return [Block(tuple(sorted(members.tolist())), partial(work, place)) for place, members in ranges]

    yield "groups", at(chain.from_iterable(c.chains), partial(grouped.fill_group, c.tree, c.paths, c.w, g))
    for turn in range(longest):
        places = [one[-1 - turn] for one in c.chains if turn < len(one)]
        yield f"elimination, turn {turn + 1}", at(places, partial(grouped.solve_group, c.paths, g))
    for turn in range(1, longest):
        places = [one[turn] for one in c.chains if turn < len(one)]
        yield f"substitution, turn {turn}", at(places, partial(grouped.substitute_group, g))
    for one in c.chains:  # no arithmetic: forces go to the rows of their bodies
        for m in range(g.first[one.start], g.first[one.stop]):
            c.w.r[g.members[m]] = g.y[6 * m : 6 * m + 6]
