"""Examples in docstrings, run as their readers would run them."""

from __future__ import annotations

import doctest
import inspect
import re
from pathlib import Path
from typing import Any

import numpy as np

import treesim


def examples_of(name: str, thing: Any) -> doctest.DocTest:
    """The examples in the docstring of one function or class, its methods' left out; none where it has no docstring."""
    given = {"np": np, "treesim": treesim}
    return doctest.DocTestParser().get_doctest(
        inspect.getdoc(thing) or "", given, name, inspect.getsourcefile(thing), 0
    )


def check_example(name: str, thing: Any, folder: Path) -> None:
    """Fail where a docstring has no example that shows a result, an example is wrong, or it leaves files in the current
    folder."""
    test, details = examples_of(name, thing), []
    titled = re.search(r"\n(Example:|Examples\n-{8})\n", inspect.getdoc(thing) or "")
    shown = [example for example in test.examples if example.want or example.exc_msg]
    assert titled and shown, f"{name} has no example that shows a result"
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    assert runner.run(test, out=details.append).failed == 0, "".join(details)
    assert not list(folder.iterdir()), "examples leave no files"
