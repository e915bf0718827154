"""Methods for Λ^-1 that are a single kernel each."""

from __future__ import annotations

from functools import lru_cache, partial

import numpy as np

from ...kernels.operational.efpa import inverse_inertia_efpa_states
from ...kernels.operational.operational_rjk import inverse_inertia_rjk_states
from ...kernels.operational.operational_sparse import inverse_inertia_ltdl_states, inverse_inertia_ltl_states
from ...kernels.operational.pv_osim import inverse_inertia_pv_osim_states
from ...kernels.operational.pv_osim_r import inverse_inertia_pv_osim_r_states
from ...model.tree import Tree
from ...types import Reference
from .base import CompiledMethod
from .frames import frame_codes
from .omega_blocks import Between, blocks_one_at_a_time, required_table


def frames_and_required_blocks(
    robot: Tree, frames: tuple[str, ...], reference: Reference, between: Between | None = None
) -> tuple[np.ndarray, ...]:
    """Return the frames' two tables, and the required Omega blocks; `between` as in `required_table`.

    Raises UnknownNameError (frame, reference).
    """
    codes, offsets = frame_codes(robot, frames, reference)
    return codes, offsets, required_table(robot.parent.tolist(), codes[1:].tolist(), between)


class Rjk(CompiledMethod):
    """Λ^-1 = R Omega R' by the low-order recursion of Rodriguez, Jain and Kreutz-Delgado, O(N + m^2 d)."""

    name = "rjk"
    source = "Featherstone 2010, appendix B, Figure 15 corrected"
    entry = inverse_inertia_rjk_states
    tables = staticmethod(frames_and_required_blocks)
    kept_tables = staticmethod(lru_cache(maxsize=256)(frames_and_required_blocks))


one_at_a_time = partial(frames_and_required_blocks, between=blocks_one_at_a_time)


class ChangKhatib(CompiledMethod):
    """Λ^-1 = R Omega R' by the recursion of Chang and Khatib, which advances one body at a time.

    It is the kernel of RJK with other blocks; see `omega_blocks`.
    """

    name = "chang_khatib"
    source = "Chang and Khatib 1999, as described in Featherstone 2010, appendix B"
    entry = inverse_inertia_rjk_states
    tables = staticmethod(one_at_a_time)
    kept_tables = staticmethod(lru_cache(maxsize=256)(one_at_a_time))


class Efpa(CompiledMethod):
    """Λ^-1 by the extended force propagator, with tasks joined at their nearest common ancestor."""

    name = "efpa"
    source = "after Wensing, Featherstone, Orin 2012"
    entry = inverse_inertia_efpa_states


class SparseLtdl(CompiledMethod):
    """Λ^-1 = Y_D Y_d' from the sparse factors H = L' D L."""

    name = "ltdl"
    source = "Featherstone 2010, section 6"
    entry = inverse_inertia_ltdl_states


class SparseLtl(CompiledMethod):
    """Λ^-1 = Y Y' from the sparse factor H = L' L."""

    name = "ltl"
    source = "Featherstone 2010, section 6"
    entry = inverse_inertia_ltl_states


class PvOsim(CompiledMethod):
    """Λ^-1 in one backward sweep with the articulated quantities (PV-OSIM)."""

    name = "pv_osim"
    source = "Sathya, Decre, Swevers 2023"
    entry = inverse_inertia_pv_osim_states


class PvOsimR(CompiledMethod):
    """Λ^-1 over the compressed tree of the bodies where tasks start or paths merge (PV-OSIMr), O(N + m^2)."""

    name = "pv_osim_r"
    source = "Sathya, Decre, Swevers 2023, reduced"
    entry = inverse_inertia_pv_osim_r_states
