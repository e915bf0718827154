"""The `treesim` program: one module per command; plugins add further ones."""

from __future__ import annotations

import logging
import os
from typing import Annotated

import typer

from .. import plugins
from ..system.interrupts import exit_code, leave_ctrl_c_to_the_system, obey_ctrl_c, obey_other_ends
from ..system.subprocesses import safe_environment
from .common import FAILED, epilog_of, option, print_error
from .plugin_commands import CommandGroup
from .streams import OutputError, guard_streams

app = typer.Typer(
    name="treesim",
    cls=CommandGroup,
    help="Dynamics of kinematic trees: inspect, simulate, view and check robots.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
PANELS = {  # of `treesim -h`
    "Look": ("info", "robots", "check", "view"),
    "Change": ("edit",),
    "Run": ("simulate", "sweep", "replay", "convert"),
    "Compare": ("compare",),
    "This installation": ("plugins", "doctor", "cache"),
}
for panel, names in PANELS.items():
    for name in names:
        command = plugins.get("commands", name)
        app.command(name, rich_help_panel=panel, epilog=epilog_of(command))(command)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"treesim {version('treesim')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, option("--version", "-V", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Dynamics of kinematic trees: inspect, simulate, view and check robots."""


def _log_to_stderr() -> None:
    """Print the library's log on stderr: slow compilations, and caches that cannot be used."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("treesim: %(message)s"))
    logger = logging.getLogger("treesim")
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    logger.propagate = False


def main() -> None:
    """Run the program with the arguments of this process; Ctrl-C ends it at any time with exit code 130.

    While a command runs, SIGTERM and SIGHUP do so, too, with exit codes 143 and 129.
    """
    guard_streams()
    _log_to_stderr()
    os.environ.update(safe_environment())  # for Pythons that libraries start
    try:
        obey_ctrl_c()
        obey_other_ends()
        app()
    except KeyboardInterrupt:
        raise SystemExit(exit_code()) from None
    except OutputError as error:  # of --help
        print_error(f"cannot write the result to standard output: {error}")
        raise SystemExit(FAILED) from None
    finally:
        leave_ctrl_c_to_the_system()
