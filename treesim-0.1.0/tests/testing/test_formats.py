"""Conformance of file formats: treesim's own keep the promises, and each that is broken is found."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from treesim import testing
from treesim.formats import npz, suffixes

LIBRARIES = {"parquet": "pyarrow", "nc": "xarray", "mcap": "mcap"}


@pytest.mark.parametrize("suffix", suffixes())
def test_own_formats_keep_the_promises(suffix):
    name = suffix[1:]
    if name in LIBRARIES:
        pytest.importorskip(LIBRARIES[name])
    assert testing.check_format(name).failures == ()


def rounded(path):
    run = npz.read(path)
    return replace(run, q=run.q.round(3))


def with_other_zeros(path):
    run = npz.read(path)
    return replace(run, q=np.where(run.q == 0, -run.q, run.q))


def forgetful(path):
    return replace(npz.read(path), contact=None)


def trusting(path):
    try:
        return npz.read(path)
    except Exception:
        return None


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        (SimpleNamespace(write=npz.write), "has the function 'read'"),
        (SimpleNamespace(write=npz.write, read=rounded), "q is not equal to the bit"),
        (SimpleNamespace(write=npz.write, read=with_other_zeros), "q is not equal to the bit"),
        (SimpleNamespace(write=npz.write, read=forgetful), "contact is None"),
        (SimpleNamespace(write=npz.write, read=trusting), "half of a file is read"),
    ],
)
def test_broken_formats_are_found(broken, problem):
    with pytest.raises(testing.ConformanceError, match=problem):
        testing.check_format(broken)
