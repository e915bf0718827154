"""The table of integrators is the one place that a new one has to be added to."""

import re
from pathlib import Path

import pytest

import treesim
from treesim import plugins
from treesim.kernels.stepping.rules import CONTACT_RULES, RULES
from treesim.simulation.integrators import CompiledRule

PACKAGE = Path(treesim.__file__).parent
NAMED = re.compile(rf"""["'](?:{"|".join(RULES)})["']""")


def constants(code):
    """The constants of a code object and of the functions and classes in it."""
    for value in code.co_consts:
        yield from constants(value) if hasattr(value, "co_consts") else value if type(value) is tuple else (value,)


def names_an_integrator(text):
    """Whether the code of a module, without docstrings, contains the name of an integrator."""
    texts = constants(compile(text, "", "exec", optimize=2))
    return any(type(value) is str and (value in RULES or NAMED.search(value)) for value in texts)


def test_few_files_name_an_integrator():
    """Their table, the registry, the type of arguments, and what selects one by its order."""
    texts = {str(file.relative_to(PACKAGE)): file.read_text("utf-8") for file in PACKAGE.rglob("*.py")}
    near = (file for file, text in texts.items() if any(f'"{name}"' in text or f"'{name}'" in text for name in RULES))
    naming = {file for file in near if names_an_integrator(texts[file])}
    assert {"plugins.py", "kernels/stepping/rules.py", "types.py"} <= naming and len(naming) <= 5, naming


def test_table_and_registry_list_the_same_integrators():
    assert list(RULES) == [*plugins.BUILT_IN["integrators"]]
    for name, rule in RULES.items():
        method = plugins.get("integrators", name)
        assert isinstance(method, CompiledRule) and method.rule is rule
        assert (method.name, method.order, method.joint_friction) == (name, rule.order, rule.contact)


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_rule_names_its_kernels_and_has_what_contact_needs(rule):
    assert rule.step.__name__ == rule.name and 0 < rule.theta <= 1 and 0 <= rule.lead < 1
    assert rule.implicit or not (rule.contact or rule.step_with_rows)
    assert (rule.name in CONTACT_RULES) == rule.contact
