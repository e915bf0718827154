"""The description of the package: README.md with absolute links, so that they work on PyPI."""

import re
import tomllib
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).parent
REPOSITORY = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Repository"]
LINK = re.compile(r"(!?)(\[[^\]]*\]\()(?!https?:|#|mailto:)([^)\s]+)")


def absolute(text: str) -> str:
    """Return Markdown in which relative links point to files of the repository, and pictures to their contents."""
    return LINK.sub(lambda m: f"{m[1]}{m[2]}{REPOSITORY}/{'raw' if m[1] else 'blob'}/main/{m[3]}", text)


setup(
    long_description=absolute((ROOT / "README.md").read_text(encoding="utf-8")),
    long_description_content_type="text/markdown",
)
