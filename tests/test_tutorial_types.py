"""Type checkers accept the programs of all tutorials as they stand: completion and errors of an editor are right."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).parents[1] / "docs" / "tutorials").glob("*.md"))
BLOCK = re.compile(
    r"^```(?:python|\{code-cell\} python)\n((?:---\n.*?^---\n|:.*\n)?)(.*?)^```", re.DOTALL | re.MULTILINE
)
# the stubs of SciPy declare the Jacobian of least squares as a text; loops over known ranges bind their names
SETTINGS = {
    "typeCheckingMode": "standard", "reportMissingImports": False, "reportMissingModuleSource": False,
    "reportPossiblyUnbound": False, "reportPossiblyUnboundVariable": False,
}  # fmt: skip
OF_OTHERS = 'in function "least_squares"'


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tutorials")
    for page in PAGES:
        text = "\n".join(block[1] for block in BLOCK.findall(page.read_text(encoding="utf-8")))
        if text:
            (folder / f"{page.stem}.py").write_text(text, encoding="utf-8")
    assert len(list(folder.iterdir())) >= 13
    return folder


@pytest.mark.slow
def test_mypy_accepts_the_programs(programs):
    api = pytest.importorskip("mypy.api")
    (programs / "mypy.ini").write_text("[mypy]\nignore_missing_imports = True\n")
    options = "--config-file", str(programs / "mypy.ini"), "--cache-dir", str(programs / "cache")
    details, problems, status = api.run([*map(str, programs.glob("*.py")), *options])
    assert (status, problems) == (0, ""), details


@pytest.mark.slow
def test_pyright_accepts_the_programs(programs):
    pytest.importorskip("basedpyright", reason="needs basedpyright: pyright with its own Node.js, 280 MB")
    (programs / "pyrightconfig.json").write_text(json.dumps(SETTINGS))
    command = [
        sys.executable,
        "-m",
        "basedpyright",
        "-p",
        str(programs),
        "--outputjson",
        "--pythonpath",
        sys.executable,
    ]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, cwd=programs).stdout)
    errors = [each for each in found["generalDiagnostics"] if each["severity"] == "error"]
    assert [each for each in errors if OF_OTHERS not in each["message"]] == []
    assert found["summary"]["filesAnalyzed"] >= 13
