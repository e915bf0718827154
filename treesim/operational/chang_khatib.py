"""Λ^-1 = R Omega R' by the recursion of Chang and Khatib, which hands on one body at a time."""

from __future__ import annotations

from ..kernels.chang_khatib import inverse_inertia_chang_khatib_states
from .base import CompiledMethod


class ChangKhatib(CompiledMethod):
    """Λ^-1 = R Omega R' by the recursion of Chang and Khatib, which hands on one body at a time."""

    name = "chang_khatib"
    source = "Chang and Khatib 1999, as described in Featherstone 2010, appendix B"
    entry = inverse_inertia_chang_khatib_states
