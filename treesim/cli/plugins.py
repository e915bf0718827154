"""`treesim plugins`: installed plugins by name, and errors in them."""

from __future__ import annotations

from dataclasses import asdict, is_dataclass
from typing import Any, cast

from .. import plugins as registry
from .common import JsonOption, examples, guarded, output, print_json


@guarded
@examples(
    "treesim plugins",
    "treesim plugins --json",
)
def plugins(json: JsonOption = False) -> None:
    """List backends, methods, integrators, viewers, engines and commands, each with its package."""
    listed = registry.listing()
    if json:
        print_json([{**asdict(plugin), "capabilities": _capabilities(plugin)} for plugin in listed])
        return
    from rich.table import Table

    table = Table("kind", "name", "from", "supports", "cost", "problem")
    for plugin in listed:
        able = _capabilities(plugin)
        flags = ", ".join(name.replace("_", " ") for name, value in able.items() if value is True)
        table.add_row(plugin.kind, plugin.name, plugin.origin, flags, str(able.get("cost", "")), plugin.problem or "")
    output().print(table)


def _capabilities(plugin: registry.Plugin) -> dict[str, Any]:
    """Return the capabilities that the implementation declares; none if it declares none or cannot be loaded."""
    if plugin.problem is not None:
        return {}
    declared = getattr(registry.get(cast(Any, plugin.kind), plugin.name), "capabilities", None)
    return asdict(declared) if is_dataclass(declared) and not isinstance(declared, type) else {}
