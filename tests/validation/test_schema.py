"""JSON texts of users: how much of one is parsed."""

import pytest

from treesim import ArgumentError
from treesim.validation.schema import fits, parsed


class Long(str):
    """A text that says how long it is, without taking as much memory."""

    def __len__(self):
        return 66_000_000 if self == "short" else 68_000_000


@pytest.mark.parametrize(
    ("accepted", "refused", "excess"),
    [
        (Long("short"), Long("long"), "68,000,000 bytes, of which at most 67,108,864 are read"),
        ("[" * 1_040_000, "[" * 1_060_000, "1,060,000 lists"),
        (b"[{" * 520_000, b"[{" * 530_000, "1,060,000 lists"),
        ("," * 4_150_000, "," * 4_240_000, "4,240,000 values"),
    ],
)
def test_texts_are_parsed_up_to_a_size(accepted, refused, excess):
    assert fits(accepted)
    assert not fits(refused)
    with pytest.raises(ArgumentError, match=f"a recipe has {excess}"):
        parsed(refused, "a recipe")
