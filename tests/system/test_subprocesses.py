"""Child processes: nothing of the working directory runs in them, and what they die of is told."""

from __future__ import annotations

import ast
import importlib.util
import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

from tests.cli.conftest import need_command
from tests.optional import script
from treesim.compare import isolation
from treesim.engine.llvm import background_compilation
from treesim.engine.llvm.object_code import CompileRequest
from treesim.meshes import reader
from treesim.sweeps.workers import WorkerProcess
from treesim.system import subprocesses
from treesim.system.subprocesses import (
    Ending,
    ProcessFailure,
    PythonProcess,
    ending,
    file_command,
    import_path,
    module_command,
    program_path,
    python_command,
    run,
    safe_environment,
)
from treesim.urdf import read

ROOT = Path(__file__).parents[2]
SOURCES = [*(ROOT / "treesim").rglob("*.py"), *(ROOT / "plugins").glob("*/src/**/*.py")]
HOSTILE = """
import os, sys
with open(os.environ["MARKER"], "a") as stream:
    stream.write(__file__ + "\\n")
raise SystemExit("a module of the working directory was run")
"""
# what a child of treesim's may import: as many names as there are, in the working directory
NAMES = sorted({*sys.stdlib_module_names, "numpy", "scipy", "treesim", "sitecustomize", "usercustomize", "zarr"})
INERTIAL = """<inertial><origin xyz="0 0 -1"/><mass value="1"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>"""
PENDULUM = f"""<robot name="pendulum"><link name="base">{INERTIAL}</link><link name="rod">{INERTIAL}</link>
<joint name="pivot" type="revolute"><parent link="base"/><child link="rod"/><axis xyz="1 0 0"/>
<limit lower="-3" upper="3" effort="1" velocity="1"/></joint></robot>"""


@pytest.fixture
def hostile_folder(tmp_path, monkeypatch):
    """A working directory in which every module's name is taken by a file that writes down that it ran."""
    folder = tmp_path / "hostile"
    folder.mkdir()
    for name in NAMES:
        (folder / f"{name}.py").write_text(HOSTILE)
    (folder / "pendulum.urdf").write_text(PENDULUM)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MARKER", str(tmp_path / "marker"))
    yield folder
    assert not (tmp_path / "marker").exists(), (tmp_path / "marker").read_text()


def test_no_other_place_starts_python():
    """Every use of the interpreter's path, and of multiprocessing's own processes, is in this module."""
    names, found = ("executable", "Process", "ProcessPoolExecutor", "Pool", "get_context"), []
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        if path == Path(subprocesses.__file__) or not any(name in text for name in names):
            continue
        for node in ast.walk(ast.parse(text)):
            name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
            if name in names:
                owner = ast.unparse(node)
                if owner in ("sys.executable", "executable") or "multiprocessing" in owner or name.endswith("Executor"):
                    found.append(f"{path.relative_to(ROOT)}:{node.lineno}: {owner}")
    assert not found


def test_no_other_place_looks_up_programs():
    """`shutil.which` finds programs of the working directory by relative entries of PATH, and on Windows always."""
    found = [path for path in SOURCES if "which(" in path.read_text(encoding="utf-8").replace("on_which(", "")]
    calls = [
        f"{path}:{node.lineno}"
        for path in found
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "shutil.which"
    ]
    assert [call.rpartition(":")[0] for call in calls] == [subprocesses.__file__]


def test_programs_of_the_working_directory_are_not_found(tmp_path, monkeypatch):
    for folder in (tmp_path / "here", tmp_path / "installed"):
        folder.mkdir()
        (folder / "tool").write_text("")
        (folder / "tool").chmod(0o700)
    monkeypatch.chdir(tmp_path / "here")
    for entries in ([""], ["."], [], ["../here"]):
        monkeypatch.setenv("PATH", os.pathsep.join(entries))
        assert program_path("tool") is None
        monkeypatch.setenv("PATH", os.pathsep.join([*entries, str(tmp_path / "installed")]))
        assert program_path("tool") == str(tmp_path / "installed" / "tool")


def started_by(how, order):
    """Start a child of a part of treesim in its way."""
    if how == "meshes":
        reader._Child()._started()
    elif how == "compilation":
        background_compilation._started(order)
    elif how == "sweeps":
        WorkerProcess([0], 1)._start()
    elif how == "engines":
        isolation._started()
    elif how == "xacro":
        subprocess.Popen(read._xacro_command("a.xacro"))
    else:
        subprocess.Popen(COMMANDS[how]())


COMMANDS = {
    "code": lambda: python_command(""),
    "module": lambda: module_command("treesim"),
    "file": lambda: file_command("a.py"),
}
WAYS = (*COMMANDS, "meshes", "compilation", "sweeps", "engines", "xacro")


@pytest.mark.parametrize("entries", [[""], ["."], ["", "../hostile"]], ids=["prompt", "dot", "relative"])
@pytest.mark.parametrize("how", WAYS)
def test_no_child_of_a_prompt_that_went_into_a_folder_gets_this_folder(how, entries, tmp_path, monkeypatch):
    """A prompt and a notebook have '' in sys.path, which is the working directory of the moment."""
    (tmp_path / "hostile").mkdir()
    (tmp_path / "xacro.py").write_text("")
    monkeypatch.chdir(tmp_path / "hostile")
    monkeypatch.setenv("PATH", "")
    started = []
    monkeypatch.setattr(subprocess, "Popen", lambda command, **options: started.append((command, options)))
    monkeypatch.setattr(sys, "path", [*entries, *sys.path, str(tmp_path)])
    started_by(how, CompileRequest("", "", "", "", False, False))
    monkeypatch.undo()
    ((command, options),) = started
    assert command[:3] == [sys.executable, "-I", "-c"]
    path = ast.literal_eval(command[3].partition("\n")[0].partition("= ")[2])
    assert path and all(map(os.path.isabs, path)) and str(tmp_path / "hostile") not in path
    assert str(tmp_path) in path
    assert how in (*COMMANDS, "xacro") or options["env"]["PYTHONSAFEPATH"] == "1"


def test_a_child_of_a_prompt_finds_the_modules_that_the_prompt_has_imported(tmp_path, monkeypatch):
    """A worker imports the module of a notebook's policy, after all that is installed."""
    modules = {
        "alone": "alone.py",
        "pack": "pack/__init__.py",
        "pack.part": "pack/part.py",
        "space.part": "space/part.py",
    }
    for name, file in modules.items():
        folder = tmp_path / name
        module = types.ModuleType(name)
        module.__file__ = str(folder / file)
        monkeypatch.setitem(sys.modules, name, module)
    assert not any(entry.startswith(str(tmp_path)) for entry in import_path())
    installed = import_path()
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    found = import_path()
    assert found[: len(installed)] == installed
    assert {str(tmp_path / name) for name in modules} <= set(found[len(installed) :])


def test_relative_entries_of_pythonpath_reach_no_child(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([".", "", str(tmp_path), "lib"]))
    assert safe_environment() == {"PYTHONSAFEPATH": "1", "PYTHONPATH": str(tmp_path)}


@pytest.mark.parametrize("command", ["code", "module", "file"])
def test_a_child_imports_nothing_of_the_working_directory(command, hostile_folder, tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import json, random, treesim; print(json.dumps(treesim.__file__))")
    commands = {
        "code": python_command(program.read_text()),
        "module": module_command("treesim", "--version"),
        "file": file_command(program),
    }
    done = run(commands[command])
    assert done.failed is None, done.failed
    assert "treesim" in done.output and "hostile" not in done.output


PROGRAMS = {
    "sweep": ["sweep", "pendulum.urdf", "--out", "run.zarr", "--samples", "8", "--steps", "5", "--chunk", "4"],
    "compare": ["compare", "pendulum.urdf", "--against", "pinocchio", "--states", "2", "--steps", "2"],
    "readers": ["readers", "pendulum.urdf", "--verify"],
    "check": ["check", "pendulum.urdf"],
}


@pytest.mark.parametrize(
    "program", [pytest.param(name, marks=[pytest.mark.slow] * (name not in ("check", "compare"))) for name in PROGRAMS]
)
def test_a_command_runs_nothing_of_the_working_directory(program, hostile_folder):
    need_command(program)
    if program == "compare" and importlib.util.find_spec("pinocchio") is None:
        pytest.skip("needs pinocchio")
    start = file_command(script("treesim"), *PROGRAMS[program])
    done = subprocess.run(start, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", ["run", "process", "program"])
def test_what_libraries_start_in_a_child_imports_nothing_of_the_working_directory(command, hostile_folder):
    """As glfw does, which MuJoCo imports: a Python of its own, without any option."""
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import json, ctypes'], check=True)"
    if command == "run":
        assert run(python_command(code)).failed is None
    elif command == "process":
        process = PythonProcess(python_command(code))
        assert process.ending().status == 0
        process.close()
    else:
        start = f"from treesim.cli import main; main.app = lambda: exec({code!r}); main.main()"
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
        done = subprocess.run(python_command(start), capture_output=True, text=True, env=environment, check=False)
        assert done.returncode == 0, done.stderr


def test_python_m_treesim_leaves_the_working_directory(tmp_path, monkeypatch):
    """Python puts it first in sys.path for `-m`; modules that commands import later are not looked for there."""
    monkeypatch.chdir(tmp_path)
    code = """
import os, runpy, sys
sys.path.insert(0, os.getcwd())
sys.argv[1:] = ["--version"]
try:
    runpy.run_module("treesim", None, "__main__")
except SystemExit as end:
    print(end.code, os.getcwd() in sys.path)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1:] == ["0 False"], done.stderr


def test_the_standard_library_comes_first_and_the_order_of_the_rest_is_kept(monkeypatch, tmp_path):
    standard = [entry for entry in import_path() if subprocesses._is_standard(entry)]
    assert os.path.dirname(os.__file__) in standard
    monkeypatch.setattr(sys, "path", ["/first", *reversed(standard), "/second", "/first", str(tmp_path)])
    assert import_path() == [*reversed(standard), "/first", "/second", str(tmp_path)]


def test_variables_of_python_are_not_read(monkeypatch):
    monkeypatch.setenv("PYTHONSTARTUP", "/no/such/file")
    monkeypatch.setenv("PYTHONHOME", "/no/such/folder")
    assert run(python_command("import sys; print(sys.flags.isolated)")).output == "1\n"


def test_how_a_child_ended():
    assert run(python_command("print('all is well')")) == ("all is well\n", None)
    assert str(run(python_command("raise ValueError('too long')")).failed) == "status 1 (ValueError: too long)"
    killed = run(python_command("import os, signal; os.kill(os.getpid(), signal.SIGKILL)"))
    assert str(killed.failed) == "SIGKILL" and killed.failed.status == -9
    assert str(ending(-36, "")) == "signal 36"  # a real-time signal


def test_a_crash_on_windows_has_its_name():
    assert str(ending(0xC0000005, "")) == "access violation"
    assert str(ending(0xC0000123, "")) == "exception 0xC0000123"
    assert str(ending(0xC0000000, "")) == "exception 0xC0000000"
    assert ending(0xBFFFFFFF, "said why").signal == ending(3, "said why").signal == ""


def test_a_child_on_windows_inherits_its_handle_alone(monkeypatch):
    """Popen takes no descriptors there."""
    inheritable = []
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(os, "set_handle_inheritable", lambda *given: inheritable.append(given), raising=False)
    monkeypatch.setattr(subprocess, "STARTUPINFO", lambda **given: given, raising=False)
    assert subprocesses._inherited(7) == {"startupinfo": {"lpAttributeList": {"handle_list": [7]}}}
    assert inheritable == [(7, True)]


def test_a_file_without_an_encoding_is_nowhere_opened():
    """The locale's encoding differs between systems."""
    for path in SOURCES:
        for call in (node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)):
            name = getattr(call.func, "attr", getattr(call.func, "id", ""))
            texts = {"read_text": 0, "write_text": 1}
            if name in texts and ast.unparse(call.func) != "distribution('treesim').read_text":
                named = len(call.args) > texts[name] or any(word.arg == "encoding" for word in call.keywords)
                assert named, f"{path}:{call.lineno}: {ast.unparse(call)}"


def test_arguments_input_and_variables_reach_a_child():
    code = "import os, sys; print(sys.argv[1:], sys.stdin.read(), os.environ['COLOUR'])"
    assert run(python_command(code, "a b", "'"), "x", environment={"COLOUR": "red"}).output == "['a b', \"'\"] x red\n"


def test_a_child_that_takes_too_long_is_killed():
    with pytest.raises(subprocess.TimeoutExpired):
        run(python_command("import time; time.sleep(60)"), timeout=0.5)


def test_a_child_answers_over_its_socket_until_it_is_closed():
    double = "import sys; from treesim.system.subprocesses import serve; serve(sys.argv[1], lambda x: 2 * x)"
    process = PythonProcess(python_command(double))
    for number in (1, 2.5, "a"):
        process.connection.send(number)
        assert process.connection.recv() == 2 * number
    assert process.returncode is None
    process.connection.close()
    assert process.ending().status == 0
    process.close()


def test_a_child_that_cannot_be_started_leaves_nothing_open():
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(OSError, match="no/such/python"):
        PythonProcess(["/no/such/python"])
    assert len(os.listdir("/proc/self/fd")) == before


class End:
    """A socket to a process that answers, is slow or has ended."""

    def __init__(self, seconds):
        self.seconds, self.sent = seconds, []

    def send(self, job):
        self.sent.append(job)

    def poll(self, timeout):
        if self.seconds is None:
            raise EOFError
        return self.seconds <= timeout

    def recv(self):
        return f"{self.sent[-1]} done"


@pytest.mark.parametrize(
    ("seconds", "ended", "message"),
    [
        (4.9, None, None),
        (5.1, None, "did not finish step 3 in 5 s"),
        (None, Ending("SIGSEGV", -11, ""), r"crashed \(SIGSEGV\) on step 3"),
        (None, Ending("", 3, "no memory"), r"ended its process with status 3 \(no memory\) on step 3"),
    ],
    ids=["in time", "late", "crashed", "ended"],
)
def test_what_a_child_dies_of_is_told_with_its_job(seconds, ended, message, monkeypatch):
    process = object.__new__(PythonProcess)
    process.connection = End(seconds)
    monkeypatch.setattr(process, "ending", lambda: ended)
    if message is None:
        assert process.ask("a job", 5.0, "step 3") == "a job done"
        return
    with pytest.raises(ProcessFailure, match=message):
        process.ask("a job", 5.0, "step 3")
