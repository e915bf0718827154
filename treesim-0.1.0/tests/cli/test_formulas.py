"""Formulas of --measure, and what --vary spells: right values, and a message for whatever else is written."""

import math
import random
import resource

import numpy as np
import pytest

import treesim
from treesim import ArgumentError
from treesim.cli.formulas import formula
from treesim.cli.sweep_options import measure_options, vary_options
from treesim.engine.graph.expressions import Expression

ROBOT = treesim.load("ur5")
Q, V = np.linspace(0.3, 1.1, 6), np.linspace(-1.0, 0.7, 6)


def value(text):
    """The value of a formula as rollouts compute it, by its trace."""
    found = formula(text, ROBOT)
    expression = Expression((1, 6, 6), lambda t, q, v: [found(t[0], q, v)])
    return float(expression([0.25], Q, V)[0])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2 ** q[0]", 2**0.3),
        ("0.5**(q[0] - 1)", 0.5 ** (0.3 - 1)),
        ("q[0]**3 + v[1]**-2", 0.3**3 + V[1] ** -2),
        ("q[1]**0.5 * q[2]**0", math.sqrt(Q[1])),
        ("-q[0] + +v[5] / 4 - t", -0.3 + V[5] / 4 - 0.25),
        ("sin(q[0]) * cos(v[0]) + tanh(exp(-abs(v[0]))) + sqrt(2)", None),
        ("q[elbow_joint] + q['elbow_joint'] + q[-1]", 2 * Q[2] + Q[5]),
        ("(q[0] < 1) & ~(v[0] > 2) | (t >= 3)", 1),
        ("(q[0] <= 0.2) | (t > 0.3)", 0),
        ("3 * (q[0] < 1) + 2**3**2 - 1/4", 3 + 512 - 0.25),
        ("+".join(["abs(v[wrist_1_joint])"] * 100), 100 * abs(V[3])),
        (" q[0]", 0.3),
    ],
)
def test_values_are_those_of_the_formula(text, expected):
    if expected is None:
        expected = math.sin(0.3) * math.cos(V[0]) + math.tanh(math.exp(-abs(V[0]))) + math.sqrt(2)
    assert value(text) == pytest.approx(expected, rel=1e-14)


PARENTHESES = "each comparison in parentheses"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1/0", "'1/0' divides by zero"),
        ("q[0]/(1 - 1)", "divides by zero"),
        ("9**9**9", "is no finite number"),
        ("(-8)**0.5", "is no finite number"),
        ("10**400", "is no finite number"),
        ("1" + "0" * 400, "is no finite number"),
        ("sqrt(-1)", "is no finite number"),
        ("exp(1000)", "is no finite number"),
        ("'a'*10**10", "is no number"),
        ("1j", "is no number"),
        ("True", "is no number"),
        ("...", "is no number"),
        ("q[0] < 1 & v[0] > 2", "in parentheses, such as"),
        ("q[0] < v[0] < 2", "in parentheses, such as"),
        ("q[0] < 1 & v[0]", "in parentheses, such as"),
        ("q[0] & v[0]", PARENTHESES),
        ("(q[0] < 1) & 1", PARENTHESES),
        ("~q[0]", PARENTHESES),
        ("not q[0] < 1", PARENTHESES),
        ("q[0] < 1 or q[1] < 1", PARENTHESES),
        ("1 < 2", "compares two constants"),
        ("q[0] == 1", "cannot hold Eq: compare by"),
        ("q[0] in v", "cannot hold In"),
        ("1 if t < 1 else 2", "cannot hold IfExp"),
        ("q[0] % 2", "cannot hold Mod"),
        ("q[0] ^ 2", "a power is"),
        ("v[0]**q[0]", "of a power, the exponent or the base must be a number"),
        ("(-2)**q[0]", "of a power, the exponent or the base must be a number"),
        ("q[0]**1.5", "exponents are whole numbers"),
        ("q[0]**100000000", "exponents are whole numbers"),
        ("q", "q has 6 numbers: take one"),
        ("sin", "sin is a function of one number"),
        ("sin(q)", "q has 6 numbers: take one"),
        ("sin(1, 2)", "sin takes one number"),
        ("sin(x=1)", "sin takes one number"),
        ("sin(*q)", "sin takes one number"),
        ("q[0](1)", "is no function"),
        ("q[6]", "q has 6 numbers"),
        ("q[-7]", "q has 6 numbers"),
        ("q[1:2]", "a joint's name is needed"),
        ("q[1.0]", "a joint's name is needed"),
        ("q[elbow-joint]", "a joint's name is needed"),
        ("q[True]", "a joint's name is needed"),
        ("t[0]", "only q and v have coordinates"),
        ("q[0][0]", "only q and v have coordinates"),
        ("q[elbow]", "did you mean 'elbow_joint'"),
        ("x", "unknown name"),
        ("f(1)", "unknown name"),
        ("", "is no formula"),
        ("q[0]; 1", "is no formula"),
        ("q[0]\0", "is no formula"),
        ("\ud800", "is no formula"),
        ("(" * 10_000, "characters"),
        ("1" + "+1" * 100_000, "characters"),
        ("(" * 1500 + "1" + ")" * 1500, "is no formula"),
        ("-" * 3900 + "1", "."),
        ("q[0]" + "+q[0]" * 700, "more than 200 operations"),
        ("lambda: 1", "cannot hold Lambda"),
        ("[x for x in q]", "cannot hold ListComp"),
        ("__import__('os').system('true')", "is no function"),
        ("f'{q}'", "cannot hold JoinedStr"),
        ("(x := 1)", "cannot hold NamedExpr"),
        ("await q", "cannot hold Await|is no formula"),
        ("yield", "cannot hold|is no formula"),
    ],
)
def test_what_is_no_formula_is_told_with_the_measures_name(text, message):
    with pytest.raises(ArgumentError, match=message) as caught:
        measure_options([f"name=last({text})"], ROBOT)
    assert str(caught.value).startswith("--measure name: ") and len(str(caught.value)) < 1000


PIECES = (
    *"()[]+-*/<>=&|~,.:'\"@%^!{}\\ \n\t\0", "**", "q[0]", "v[elbow_joint]", "q", "t", "9", "1e308", "1e-320", "nan",
    "inf", "sin(", "sqrt(", "exp(", "abs(", "last(", "any(", "maximum(", "normal(", "uniform(", "loguniform(", "scale(",
    "around(", " and ", " not ", " if ", " else ", "lambda ", "x=", "mass=", "mass[*]", "==", "<=", "10**", "é",
    "\ud800", "__class__", "'a'*", "[0]", ")",
)  # fmt: skip


def test_random_options_end_in_values_or_messages():
    rng = random.Random(7)
    made = 0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(2000):
        text = "".join(rng.choices(PIECES, k=rng.choice((1, 1, 3, 6, 12, 30))))
        mixed = " + ".join(rng.choices(("q[0]", "abs(v[1])", "2**t", "(q[0] < 1)", text), k=3))
        text = rng.choice((text, f"x=last({text})", f"x=any(q[0] {text} v[1])", f"x=last({mixed})"))
        try:
            for measure in measure_options([text], ROBOT).values():
                Expression((1, 6, 6), lambda t, q, v, function=measure.function: [function(t[0], q, v)])
                made += 1
        except (ArgumentError, treesim.UnsupportedError) as error:
            assert len(str(error)) < 2000
        text = rng.choice((text, f"mass={text}", f"mass=normal(9,{text})", f"mass=scale(uniform({text},9))"))
        try:
            for distribution in vary_options([text]).values():
                u = np.array([[2.0**-53], [0.5], [1 - 2.0**-53]])
                if hasattr(distribution, "values"):
                    assert np.isfinite(distribution.values(u)).all()
                made += 1
        except ArgumentError as error:
            assert len(str(error)) < 2000
    assert made > 50
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kB


@pytest.mark.parametrize(
    "text",
    [
        "mass=" + "scale(" * 100_000,
        "mass=" + ",".join(["1"] * 200_000),
        "m" * 10**6,
        "=",
        "mass=normal(1,2,3)",
        "mass=()",
    ],
)
def test_long_and_empty_options_of_vary(text):
    try:
        assert len(vary_options([text])["mass"].options) == 200_000
    except ArgumentError as error:
        assert len(str(error)) < 1000


NAMES = [
    "left/shoulder",
    "left-shoulder",
    "a, b",
    "a=b",
    "läuft",
    "a.b",
    "*",
    "if",
    "\ufb01n",
    "x y",
    "back\\slash",
    "%2F",
]
QUOTED_NAMES = ["q[0]", 'with "quotes"', "it's", "0", "1]+q[2", "say q[a.b]"]  # which have a meaning without quotes


def test_joints_may_have_any_name():
    names = NAMES + QUOTED_NAMES
    inertia = treesim.Inertia(1.0, (0.1, 0, -0.3), np.eye(3) * 0.1)
    bodies = [treesim.Body(f"b{i}", i, treesim.Joint(name, "revolute"), inertia) for i, name in enumerate(names)]
    robot, numbers = treesim.Tree("odd", bodies), np.arange(1.0, 1 + len(names))
    for i, name in enumerate(names):
        for text in [f"q[{name!r}] + 1", *([f"q[{name}] + 1", f"v[ {name} ] + 1"] if name in NAMES else [])]:
            assert formula(text, robot)(0.0, numbers, numbers) == numbers[i] + 1, text
    assert formula("q[0] + q[1]+q[2]", robot)(0.0, numbers, numbers) == 1 + 2 + 3


def test_what_is_varied_may_have_an_equals_sign_in_its_name():
    (name,) = vary_options(["mass[a=b]=uniform(1, 2)"])
    assert name == "mass[a=b]"
