"""Comparison of engines as one self-contained HTML file: tables, and plots by matplotlib."""

from ..figures import require_matplotlib
from .page import page, write_page

__all__ = ["page", "require_matplotlib", "write_page"]
