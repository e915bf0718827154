"""Engines that can be used: a plugin may be installed without what it needs."""

from treesim import plugins
from treesim.errors import PluginError


def usable_engines() -> list[str]:
    """Return the names of the engines whose plugins load."""
    found = []
    for name in plugins.available("engines"):
        try:
            plugins.get("engines", name)
        except PluginError:
            continue
        found.append(name)
    return found
