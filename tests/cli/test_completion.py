"""Shell completion of robots, joints and implementations, as a shell asks for it."""

import signal

import pytest

from treesim.cli.common import completed
from treesim.cli.main import main


@pytest.fixture(autouse=True)
def _signals():
    """Restore how this process handles signals, which `main` changes: a later test could end it."""
    numbers = [number for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGPIPE") if (number := getattr(signal, name, None))]
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(
    ("line", "found", "other"),
    [
        ("treesim view ur5", "ur5_limited", "ur10"),
        ("treesim info pan", "panda", "ur5"),
        ("treesim simulate ur5 --integrator semi", "semi_implicit_euler", "rk4"),
        ("treesim simulate ur5 --backend crba", "crba_ltdl", "aba"),
        ("treesim view ur5 --contact-solver a", "admm", "pgs"),
        ("treesim edit ur5 --lock elb", "elbow_joint=", "wrist_1_joint="),
        ("treesim simulate ur5 --q0 wri", "wrist_1_joint=", "elbow_joint="),
    ],
)
def test_names_are_completed(line, found, other, monkeypatch, capsys):
    monkeypatch.setenv("_TREESIM_COMPLETE", "complete_zsh")
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", line)
    monkeypatch.setattr("sys.argv", ["treesim"])
    monkeypatch.setattr("__main__.__package__", None)  # else click takes the program for a part of `python -m pytest`
    with pytest.raises(SystemExit):
        main()
    shown = capsys.readouterr().out
    assert f'"{found}' in shown and f'"{other}' not in shown


def test_an_unknown_robot_has_no_joints(monkeypatch):
    monkeypatch.setenv("COMP_WORDS", "treesim edit nobody --lock e")
    monkeypatch.delenv("_TYPER_COMPLETE_ARGS", raising=False)
    assert completed("joints")("e") == []
