"""Advice on each finding's code: why it matters and how to fix it, by tier."""

from __future__ import annotations

from .assets import ASSETS
from .base import Advice
from .physics import PHYSICS
from .structure import STRUCTURE
from .syntax import SYNTAX

__all__ = ["ADVICE", "TIERS", "TIER_OF", "Advice"]

BY_TIER: dict[str, dict[str, Advice]] = {
    "syntax": SYNTAX,
    "structure": STRUCTURE,
    "physics": PHYSICS,
    "assets": ASSETS,
}
TIERS = tuple(BY_TIER)
TIER_OF = {code: tier for tier, codes in BY_TIER.items() for code in codes}
ADVICE = {code: advice for codes in BY_TIER.values() for code, advice in codes.items()}
