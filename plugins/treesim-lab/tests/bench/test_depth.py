"""Critical paths over the number of bodies: a row for every method, and slopes that separate log N from N."""

import pytest
from treesim_lab.bench.depth import depths, per_doubling
from treesim_lab.plotting.cost import save_depths

from treesim.dynamics.compiled.schedules import schedule, scheduled_methods
from treesim.model.generators import chain as make_chain


def test_slopes_are_those_of_the_numbers():
    assert per_doubling([8, 16, 32], [3, 5, 7]) == pytest.approx(2)
    assert per_doubling([7, 15, 31, 63], [100, 3, 5, 7]) == pytest.approx(2, rel=0.05)
    assert per_doubling([8], [3]) is None


@pytest.mark.slow
def test_every_method_has_a_row_in_every_family_and_what_is_logarithmic_adds_less(tmp_path):
    rows = depths((4, 8))
    expected = [*scheduled_methods(), *scheduled_methods(["any"])]
    for family in ("chain", "binary tree", "side branches"):
        of_family = {(row["quantity"], row["method"]): row for row in rows if row["family"] == family}
        assert [method for _, method in of_family] == expected
        if family == "chain":
            for (quantity, method), row in of_family.items():
                serial = of_family[quantity, "constraint_force"]["depth_per_doubling"]
                parallel = method.endswith(("_cr", "_pcr", "conquer", "contraction"))
                assert (row["depth_per_doubling"] < 0.5 * serial) == parallel or method == "aba"
    chain = next(row for row in rows if (row["family"], row["method"]) == ("chain", "aba"))
    assert chain["critical_path"] == [schedule(make_chain(n), "aba").critical_path for n in chain["bodies"]]
    save_depths(tmp_path / "depth.svg", rows)
    assert (tmp_path / "depth.svg").read_text().count("<path") > 3 * len(rows)
