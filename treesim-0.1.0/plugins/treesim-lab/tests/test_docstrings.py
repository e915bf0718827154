"""Every public function and class has a correct example in its docstring."""

import pytest
import treesim_lab
from treesim_lab import bench
from treesim_lab.cost import bounds

from tests.docstring_examples import check_example

THINGS = [
    *(getattr(treesim_lab, name) for name in treesim_lab.__all__),
    bounds.back_substitution_by_rule,
    bounds.density,
    bounds.factorization_by_rule,
    bounds.largest_counts,
    bounds.largest_counts_at_depth,
    bounds.most_transformed_inertias,
    bounds.transformed_inertias,
    bench.time_calls,
    bench.time_sizes,
]
SLOW = [bench.time_batches, bench.time_robots, bench.time_start]  # other everyday tests time the same


@pytest.mark.filterwarnings("ignore::treesim.UrdfWarning")
@pytest.mark.parametrize(
    "thing",
    [*THINGS, *(pytest.param(thing, marks=pytest.mark.slow) for thing in SLOW)],
    ids=lambda thing: f"{thing.__module__}.{thing.__name__}",
)
def test_example(thing, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    check_example(thing.__name__, thing, tmp_path)
