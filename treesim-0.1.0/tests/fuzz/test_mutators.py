"""The mutators themselves: the same damage from the same seed, and damage of every kind."""

import random
from pathlib import Path

import pytest

from tests.fuzz.mutators import MUTATORS, spoil

ROBOT = (Path(__file__).parents[2] / "assets" / "asimo.urdf").read_bytes()


@pytest.mark.parametrize("mutator", MUTATORS, ids=lambda mutator: mutator.__name__)
def test_a_seed_gives_the_same_damage_and_seeds_give_different_damage(mutator):
    first, again = ([spoil(random.Random(seed), ROBOT, mutator) for seed in range(5)] for _ in range(2))
    assert first == again and len(set(first)) > 1
