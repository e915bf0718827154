"""What pyproject.toml cannot state: links of README.md that work on PyPI, and plugins of extras from this checkout."""

import re
import tomllib
from pathlib import Path

from setuptools import Distribution, setup

ROOT = Path(__file__).parent.resolve()
REPOSITORY = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Repository"]
LINK = re.compile(r"(!?)(\[[^\]]*\]\()(?!https?:|#|mailto:)([^)\s]+)")
PLUGIN = re.compile(r"(treesim-\w+)(\[[\w,]+\])?(?:~=[\d.]+)?(.*)")  # name, extras, version, condition


def absolute(text: str) -> str:
    """Return Markdown in which relative links point to files of the repository, and pictures to their contents."""
    return LINK.sub(lambda m: f"{m[1]}{m[2]}{REPOSITORY}/{'raw' if m[1] else 'blob'}/main/{m[3]}", text)


def from_checkout(requirement: str) -> str:
    """Return the requirement of a plugin by its folder; others as they are."""
    found = PLUGIN.fullmatch(requirement)
    if found is None:
        return requirement
    name, extras, condition = found[1], found[2] or "", found[3].strip()
    return f"{name}{extras} @ {(ROOT / 'plugins' / name).as_uri()} {condition}".strip()


class Project(Distribution):
    """A distribution whose extras install plugins from the checkout that it is built in.

    Source distributions, and what is built from them, contain PKG-INFO, and install plugins from the index.
    """

    def parse_config_files(self, *arguments, **options):
        """Read pyproject.toml, then replace the plugins among its optional dependencies."""
        super().parse_config_files(*arguments, **options)
        building_source = "sdist" in self.script_args or (ROOT / "PKG-INFO").exists()
        if not building_source:
            self.extras_require = {
                extra: [from_checkout(str(each)) for each in every] for extra, every in self.extras_require.items()
            }
            self._finalize_requires()


setup(
    distclass=Project,
    long_description=absolute((ROOT / "README.md").read_text(encoding="utf-8")),
    long_description_content_type="text/markdown",
)
