"""Code shared by all commands: options, output channels, and error handling.

Options
-------
robot
    A URDF file, its file:// or package:// URL, or the name of an installed robot (`treesim robots` lists the names).
--base
    Base: fixed, floating or auto. fixed: the root link is fixed to the world. floating: the root link moves freely.
    auto: fixed if the file has a joint root_joint, or if the root link is called world, has no mass, or has only one
    moving joint, like the pedestal of an arm; otherwise floating.
--mimic
    With free, mimic joints move independently. By default, mimic joints follow their mimicked joints exactly.
--xacro
    Expand ROBOT with the installed program xacro, also if the file name does not end in .xacro. The program evaluates
    expressions in the file, and reads other files that the file names.
--substeps
    Number of substeps in each time step. Default: the number that the integrator needs for its accuracy.
--seed
    Seed of the random states.
--record
    File of the motion: .mp4 (film), .png (last state), .glb (meshes and animation) or .html.
--quiet
    Print no progress and no table.
--json
    Print the result, or the error, as JSON on standard output.
"""

from __future__ import annotations

import functools
import inspect
import math
import os
import re
import warnings
from collections import ChainMap, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec, cast, get_args, get_origin, get_type_hints

import typer

from ..errors import ArgumentError, PluginError, TreesimError, UnsupportedError, UrdfError, quoted, unknown_name
from ..system.installation import installed_by
from ..system.interrupts import exit_code as exit_code
from .streams import OutputError, escaped, json_text, standard_error, standard_output, survive_pipes

if TYPE_CHECKING:
    from rich.console import Console

    from ..model.tree import Tree
    from ..types import BaseChoice, Mimic

P = ParamSpec("P")

FAILED = 1  # the command ran and its result is a failure
USER_ERROR = 2  # what was asked for cannot be done

PIPE_WIDTH = 160  # of tables in a file or pipe, which has no width of its own
MIMIC_REFUSED = "U408"  # the finding's code
BASES = ("fixed", "floating")
BASE_CHOICES = (*BASES, "auto")
FRAMES_PER_SECOND = 30.0  # of recorded motions

# panels of options in the help of a command
MODEL, START, CONTROL, CONTACT, INTEGRATOR_PANEL, OUTPUT = (
    "Model", "Initial state", "Control", "Contact", "Integrator", "Output",
)  # fmt: skip


def option(*names: str, panel: str | None = None, **settings: Any) -> Any:
    """Return an option of a command.

    names: as written, by default that of the parameter. The help text is `help`, or by default the parameter's entry in
    the section "Options" of the docstring of the command, or of the dataclass.
    """
    return typer.Option(*names, rich_help_panel=panel, **settings)


def documented(docstring: str | None) -> tuple[str, dict[str, str]]:
    """Return a docstring without its section "Options", and the help text of each parameter in that section."""
    text, _, section = inspect.cleandoc(docstring or "").partition("\n\nOptions\n-------\n")
    entries = (entry.partition("\n") for entry in re.split(r"\n(?=\S)", section))
    return text, {name.strip("-").replace("-", "_"): " ".join(lines.split()) for name, _, lines in entries}


def completed(kind: str) -> Callable[[str], list[str]]:
    """Return the completion of a name by a shell: of "robots", of "joints" of ROBOT, or of a kind of plugins."""

    def matching(incomplete: str) -> list[str]:
        from .. import plugins
        from ..urdf import installed_robots, load

        known: list[str] = []
        with warnings.catch_warnings(action="ignore"), suppress(TreesimError):
            if kind == "robots":
                known = [entry.name for entry in installed_robots()]
            elif kind == "joints":
                line = os.environ.get("_TYPER_COMPLETE_ARGS") or os.environ.get("COMP_WORDS", "")  # as shells pass it
                robot = next((word for word in line.split()[2:] if not word.startswith("-")), "")
                known = [f"{name}=" for name in load(robot, "auto").q_index]
            else:
                known = list(plugins.available(kind))  # type: ignore[arg-type]
        return [name for name in known if name.startswith(incomplete)]

    return matching


SHARED = defaultdict(str, documented(__doc__)[1])  # empty without docstrings, as with `python -OO`
ROBOTS = completed("robots")
RobotArgument = Annotated[
    str, typer.Argument(metavar="ROBOT", help=SHARED["robot"], show_default=False, autocompletion=ROBOTS)
]
WorldArgument = Annotated[str, typer.Argument(metavar="ROBOT", show_default=False, autocompletion=ROBOTS)]
OptionalRobotArgument = Annotated[
    str | None,
    typer.Argument(metavar="[ROBOT]", help="A URDF file, or the name of an installed robot.", autocompletion=ROBOTS),
]
BaseOption = Annotated[str, option(help=SHARED["base"], panel=MODEL)]
MimicOption = Annotated[str | None, option(help=SHARED["mimic"], panel=MODEL)]
XacroOption = Annotated[bool, option("--xacro", help=SHARED["xacro"], panel=MODEL)]
SubstepsOption = Annotated[int | None, option(help=SHARED["substeps"], panel=INTEGRATOR_PANEL, min=1)]
SeedOption = Annotated[int, option(help=SHARED["seed"], min=0)]
RecordOption = Annotated[Path | None, option(help=SHARED["record"], panel=OUTPUT)]
QuietOption = Annotated[bool, option("--quiet", "-q", help=SHARED["quiet"], panel=OUTPUT)]
JsonOption = Annotated[bool, option("--json", help=SHARED["json"], panel=OUTPUT)]


def output() -> Console:
    """Return the console for results (standard output)."""
    from .console import PlainConsole

    stream = standard_output()
    return PlainConsole(stream, width=None if stream.isatty() else PIPE_WIDTH)


def messages() -> Console:
    """Return the console for errors, warnings and progress (standard error)."""
    from .console import PlainConsole

    return PlainConsole(standard_error())


def print_json(value: Any) -> None:
    """Write `value` as JSON on standard output; NaN and infinity become null."""
    print_line(json_text(plain(value), indent=2))


def report_file(robot: Tree, label: str, path: Path, json: bool) -> None:
    """Print the name and the size of a written file; label: its name in JSON."""
    size = path.stat().st_size
    if json:
        print_json({"robot": robot.name, label: str(path), "bytes": size})
    else:
        output().print(f"wrote {path} ({size / 1e6:.1f} MB)", soft_wrap=True, highlight=False)


def print_line(text: str) -> None:
    """Write a line on standard output, unbuffered."""
    stream = standard_output()
    stream.write(f"{text}\n")
    stream.flush()


def plain(value: Any) -> Any:
    """Return `value` with arrays as lists, and numbers that JSON cannot represent as None."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def print_error(text: str) -> None:
    """Show an error on standard error."""
    _print_labelled("error", "bold red", text)


def print_warning(text: str) -> None:
    """Show a warning on standard error."""
    _print_labelled("warning", "yellow", text)


def _print_labelled(label: str, style: str, text: str) -> None:
    from rich.text import Text

    messages().print(Text.assemble((f"{label}: ", style), escaped(text)), soft_wrap=True)


def examples(*lines: str) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Return a decorator that adds command lines to the end of a command's help."""

    def add(command: Callable[P, None]) -> Callable[P, None]:
        command.examples = lines  # type: ignore[attr-defined]
        return command

    return add


def option_name(field: str) -> str:
    """Return the name on the command line of a field of options."""
    return "--with" if field == "others" else f"--{field.replace('_', '-')}"


def epilog_of(command: Any) -> str | None:
    """Return the end of a command's help; None if it has no examples."""
    lines = getattr(command, "examples", ())
    shown = (line.replace("[", r"\[") for line in lines)  # which is no markup of rich
    return "\n".join(["Examples:", *shown]) if lines else None


def guarded(command: Callable[P, None]) -> Callable[P, None]:
    """Wrap a command with error handling and exit codes.

    A user error ends in one message and exit code 2, a non-finite state in exit code 1, Ctrl-C in exit code
    130; with --json the error is also printed on standard output. A command with a robot argument also gets the option
    --xacro. A parameter whose type is a dataclass stands for one option for each field.
    """
    signature = inspect.signature(command, eval_str=True)
    text, helps = documented(command.__doc__)
    takes_robots = not signature.parameters.keys().isdisjoint(("robot", "robots"))
    groups = {p.name: p.annotation for p in signature.parameters.values() if is_dataclass(p.annotation)}

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        from ..urdf.read import xacro_allowed

        allowed = bool(takes_robots and kwargs.pop("xacro", False))
        fail = partial(_fail, json=bool(kwargs.get("json")))
        for name, kind in groups.items():
            kwargs[name] = cast(Any, kind)(**{field.name: kwargs.pop(field.name) for field in fields(kind)})
        survive_pipes()
        try:
            with _warnings_shown(), xacro_allowed(allowed):
                command(*args, **kwargs)
            standard_output().flush()
        except OutputError as error:
            print_error(f"cannot write the result to standard output: {error}")
            raise typer.Exit(FAILED) from None
        except TreesimError as error:
            raise fail(error, str(error), FAILED if isinstance(error, ArithmeticError) else USER_ERROR) from None
        except MemoryError as error:
            what = f"not enough memory: {error}; a shorter --duration or a larger --dt needs less"
            raise fail(error, what, FAILED) from None
        except KeyboardInterrupt as error:
            raise fail(error, "interrupted", exit_code()) from None

    parameters = [option for given in signature.parameters.values() for option in _options_of(given, helps)]
    if takes_robots:
        parameters.insert(-1, _parameter("xacro", XacroOption, False, {}))
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__doc__ = re.sub(r"(?<!\n)\n(?!\n)", " ", text)  # of which typer keeps the lines
    return run


def _options_of(given: inspect.Parameter, helps: Mapping[str, str]) -> list[inspect.Parameter]:
    """Return a command's parameter, or if its type is a dataclass, one parameter for each field."""
    kind = given.annotation
    if not is_dataclass(kind):
        return [_parameter(given.name, kind, given.default, helps)]
    hints = get_type_hints(kind, include_extras=True)
    texts = ChainMap(*(documented(base.__doc__)[1] for base in cast(Any, kind).__mro__ if is_dataclass(base)))
    return [_parameter(field.name, hints[field.name], field.default, texts) for field in fields(kind)]


def _parameter(name: str, annotation: Any, default: Any, helps: Mapping[str, str]) -> inspect.Parameter:
    """Return a parameter for typer, with its help text; a documented option that is off has no opposite."""
    annotated = get_origin(annotation) is Annotated
    if annotated or name in helps:
        kind, given = get_args(annotation) if annotated else (annotation, option())
        given = copy(given)  # which may be shared by several commands
        given.help = given.help or helps.get(name)
        if name in helps and default is False and given.default is ...:  # typer's place for the option's first name
            given.default = option_name(name)
        annotation = Annotated[kind, given]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _fail(error: BaseException, message: str, code: int, json: bool) -> typer.Exit:
    """Print an error, with `json` also as JSON on standard output, and return the exception that ends the command."""
    print_error(message)
    if json:
        print_json({"error": {"type": type(error).__name__, "message": message, "exit_code": code}})
    return typer.Exit(code)


@contextmanager
def _warnings_shown() -> Iterator[None]:
    """Context that prints treesim's warnings as sentences, each once, without source lines."""
    seen: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        if str(message) not in seen:
            seen.add(str(message))
            print_warning(str(message))

    with warnings.catch_warnings(action="default", category=UserWarning):
        warnings.showwarning = show
        yield


def load_robot(source: str, base: str, mimic: str | None, convex_parts: bool = False) -> Tree:
    """Return the robot named on the command line, under this name unless it is a file's.

    Raises as `treesim.load`.
    """
    return named_on_command_line(described_robot(source, base, mimic, convex_parts), source)


def named_on_command_line(robot: Tree, source: str) -> Tree:
    """Return a robot under its name on the command line, unless this is a file's."""
    from ..urdf.resolve import is_robot_name

    return robot.with_name(source) if is_robot_name(source) else robot


def described_robot(source: str, base: str, mimic: str | None, convex_parts: bool = False) -> Tree:
    """Return the robot named on the command line, under the name in its description; raises as `treesim.load`."""
    import treesim

    with checked_loading(base, mimic):
        where, follow = cast("BaseChoice", base), cast("Mimic | None", mimic)
        return treesim.load(source, base=where, mimic=follow, convex_parts=convex_parts)


@contextmanager
def checked_loading(base: str, mimic: str | None) -> Iterator[None]:
    """Context that checks options for loading a robot, and names the option if mimic joints are rejected."""
    checked_name("base", base, BASE_CHOICES)
    if mimic is not None:
        checked_name("way to treat mimic joints", mimic, ("free",))
    try:
        yield
    except UrdfError as error:
        if any(finding.code == MIMIC_REFUSED for finding in error.findings):
            raise UrdfError(f"{error}\nhere that is: --mimic free", error.findings) from error
        raise


def get_viewer(name: str) -> Any:
    """Return the viewer called `name`; raises UnknownNameError, or PluginError if meshcat is not installed."""
    from .. import plugins

    if name == "meshcat" and name not in plugins.available("viewers"):
        raise PluginError(f"the meshcat viewer is not installed: {installed_by('./plugins/treesim-meshcat')}")
    return plugins.get("viewers", name)


def get_recorder(name: str | None) -> Any:
    """Return the named viewer, or by default meshcat or the first registered viewer, that records motions.

    Raises UnknownNameError, PluginError, and UnsupportedError for a viewer that does not record.
    """
    from .. import plugins
    from ..viewing.protocols import Recorder

    if name is None:
        names = plugins.available("viewers")
        for known in sorted(names, key=lambda known: known != "meshcat"):
            viewer = plugins.get("viewers", known)
            if isinstance(viewer, Recorder):
                return viewer
        name = "meshcat"
    viewer = get_viewer(name)
    if not isinstance(viewer, Recorder):
        raise UnsupportedError(f"viewer {quoted(name)} records no motions: it has no method `record`")
    return viewer


def check_record(recorder: Any, path: Path) -> None:
    """Raise the errors that a recorder would raise for a path, whatever the motion is."""
    from ..system.files import checked_output
    from ..viewing.protocols import FormatRecorder

    if isinstance(recorder, FormatRecorder):
        recorder.check_record(path)
    else:
        checked_output(path, (".html", ".htm"))


def given_options(context: typer.Context) -> set[str]:
    """Return the names of the options that were given on the command line."""
    return {name for name in context.params if getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE"}


def checked_name(kind: str, name: str, known: tuple[str, ...]) -> str:
    """Return `name` if it is one of `known`; raises UnknownNameError otherwise."""
    if name not in known:
        raise unknown_name(kind, name, known)
    return name


def split_pair(option: str, text: str, form: str = "NAME=...", last: bool = False) -> tuple[str, str]:
    """Split NAME=VALUE at the first =, or at the last, as names of links may contain =; form: for the error."""
    name, equals, value = (part.strip() for part in (text.rpartition("=") if last else text.partition("=")))
    if not (equals and name and value):
        raise ArgumentError(f"{option} takes {form}, got {quoted(text)}")
    return name, value


def finite_number(option: str, text: str, allowed: str = "") -> float:
    """Return the number in a text; allowed: other texts that an option allows, for the error."""
    try:
        value = float(text)
    except ValueError:
        more = f" ({allowed})" if allowed else ""
        raise ArgumentError(f"{option}: {quoted(text.strip())} is not a number{more}") from None
    if not math.isfinite(value):
        raise ArgumentError(f"{option}: {text.strip()} is not finite")
    return value


def checked_positive(option: str, value: float, most: float = math.inf) -> float:
    """Return `value` if it is finite, above zero and at most `most`; otherwise raises ArgumentError with the option."""
    if not (math.isfinite(value) and 0 < value <= most):
        limit = f" and at most {most:g}" if math.isfinite(most) else ""
        raise ArgumentError(f"{option} must be a number above zero{limit}, got {value:g}")
    return value


def checked_seconds(option: str, value: float) -> float:
    """Return `value` if it is valid as a time in a simulation; otherwise raises ArgumentError with the option."""
    from ..states.arguments import LONGEST

    return checked_positive(option, checked_positive(option, value), LONGEST)
