"""Forward-dynamics backends that are a single kernel each."""

from __future__ import annotations

from ..kernels.algebra.tables import put_motion
from ..kernels.dynamics import aba as kernel
from ..kernels.dynamics.inertia_matrix_dynamics import forward_dynamics_ltdl_states, forward_dynamics_ltl_states
from ..kernels.dynamics.rjk import forward_dynamics_rjk_states
from ..kernels.kinematics.bodies import base_acceleration, zero_motion
from ..kernels.published.innovations import forward_dynamics_explicit_states, forward_dynamics_innovations_states
from ..model.tree import Tree
from .base import Capabilities, CompiledBackend
from .block_counts import Counting, Stages, each, levels, onto_parents
from .schedule import Schedule


class Aba(CompiledBackend):
    """Articulated-body algorithm without precomputed bias (Jain 1991, Lemma 6.5), O(N); the default."""

    name = "aba"
    capabilities = Capabilities(cost="O(N)", source="RBDA Table 7.1; Jain 1991, Lemma 6.5")
    entry = kernel.forward_dynamics_states

    def schedule(self, robot: Tree) -> Schedule:
        """Return the bodies by level of the tree, which are independent; the kernel computes them one by one."""
        counting = Counting(robot)
        return counting.schedule(self.name, _stages(robot, counting))


def _stages(robot: Tree, counting: Counting) -> Stages:
    tree, q, v, tau = counting.tree, counting.q, counting.v, counting.tau
    X, V, C, IA, pA, U, D_inv, nu = kernel.scratch_for(tree, q)
    outward = levels(robot)
    put_motion(V, 0, zero_motion(tree))
    for d, bodies in outward:
        yield f"velocities, depth {d}", each(bodies, lambda i: kernel.start_body(tree, q, v, X, V, C, IA, pA, i))
    for d, bodies in reversed(outward):
        blocks = onto_parents(
            robot, reversed(bodies), lambda i: kernel.articulate_body(tree, tau, X, C, IA, pA, U, D_inv, nu, i)
        )
        yield f"articulated inertias, depth {d}", blocks
    put_motion(V, 0, base_acceleration(tree))
    for d, bodies in outward:
        blocks = each(bodies, lambda i: kernel.accelerate_body(tree, X, C, U, D_inv, nu, counting.qdd, V, i))
        yield f"accelerations, depth {d}", blocks


class CrbaLtdl(CompiledBackend):
    """Mass matrix by CRBA, factored H = L' D L without fill-in."""

    name = "crba_ltdl"
    capabilities = Capabilities(cost="O(n d^2)", source="Featherstone 2005, section 2")
    entry = forward_dynamics_ltdl_states


class CrbaLtl(CompiledBackend):
    """Mass matrix by CRBA, factored H = L' L without fill-in."""

    name = "crba_ltl"
    capabilities = Capabilities(cost="O(n d^2)", source="Featherstone 2005, section 2")
    entry = forward_dynamics_ltl_states


class Rjk(CompiledBackend):
    """Articulated-body algorithm with precomputed bias: C by RNEA, then Jain 1991, eq. 45 and 46; O(N)."""

    name = "rjk"
    capabilities = Capabilities(cost="O(N)", source="Jain 1991, eq. 45, 46, 55; Featherstone 2010, appendix B")
    entry = forward_dynamics_rjk_states


class Innovations(CompiledBackend):
    """Triangularised dynamics: M = [1 + H phi K] D [1 + H phi K]' from articulated quantities."""

    name = "innovations"
    capabilities = Capabilities(cost="O(n d)", source="Jain 1991, section 4 and Lemma 6.2")
    entry = forward_dynamics_innovations_states


class ExplicitInverse(CompiledBackend):
    """Explicit inverse factors: qdd = [1 - H psi K]' D^-1 [1 - H psi K] (tau - C)."""

    name = "explicit_inverse"
    capabilities = Capabilities(cost="O(n d)", source="Jain 1991, Lemma 6.3 and 6.4")
    entry = forward_dynamics_explicit_states
