"""Sphinx builds the site with these settings: python -m sphinx -W --keep-going -b html docs build/site."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from numpydoc.xref import DEFAULT_LINKS

import treesim

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "treesim"
author = "the treesim developers"
copyright = author  # the name that Sphinx requires
version = release = treesim.__version__

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "api_pages",
    "notfound.extension",
    "command_reference",
    "exercises",
    "front_page",
    "gallery",
    "mathjax",
    "paper_items",
    "page_list",
    "result_tables",
    "site_links",
]
exclude_patterns = ["_extensions", "_templates", "faults"]
templates_path = ["_templates"]

# pages
smartquotes = False  # which would make one dash of the two of an option
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_update_mathjax = False  # which would leave out formulas that are no MyST
myst_heading_anchors = 4  # links to headings, spelt as code hosts spell them
suppress_warnings = ["myst.header"]  # included pages begin at their own level
nb_execution_mode = "cache"
nb_execution_cache_path = str(Path(__file__).parent.parent / "build" / "notebooks")
nb_execution_in_temp = True  # what a tutorial writes stays out of the pages
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True  # one block of output for a cell, however fast it prints
copybutton_prompt_text = r"^(\$|>>>|\.\.\.) "
copybutton_prompt_is_regexp = True

# reference from docstrings
default_role = "py:obj"  # of docstrings: a name in backticks is a link if it is public, and code otherwise
autosummary_generate = True
autosummary_filename_map = {"treesim.Articulated": "treesim.Articulated-class"}  # where files ignore upper case
autodoc_typehints = "none"  # the sections of docstrings have types, shapes and units
autodoc_member_order = "bysource"
add_module_names = False
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False  # autoclass lists them
numpydoc_xref_param_type = True
numpydoc_xref_aliases = {name: name for name in DEFAULT_LINKS} | {name: f"treesim.{name}" for name in treesim.__all__}
numpydoc_xref_ignore = "all"  # words without an alias are no links

# address: docs/publish.py sets it; without it the site is for this machine, and has no menu of versions and no sitemap
address = os.environ.get("TREESIM_DOCS_ADDRESS", "")
html_baseurl = urljoin(address, f"{version}/") if address else ""
extensions += ["sphinx_sitemap"] if address else []
sitemap_url_scheme = "{link}"
sitemap_excludes = ["404.html", "search.html", "genindex.html"]
notfound_urls_prefix = urlsplit(html_baseurl).path or "/"
notfound_context = {
    "title": "Page not found",
    "body": "<h1>Page not found</h1><p>There is no such page in this version. Search for its words, or start at the "
    f'<a href="{notfound_urls_prefix}index.html">first page</a>.</p>',
}

# appearance
html_theme = "pydata_sphinx_theme"
html_title = "treesim"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_sidebars = {"install": []}  # it has no pages below it
html_show_sourcelink = False
html_show_sphinx = False
html_search_scorer = str(Path(__file__).parent / "_extensions" / "scorer.js")
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
if address:
    html_theme_options |= {
        "switcher": {"json_url": "../switcher.json", "version_match": version},
        "check_switcher": False,  # docs/publish.py writes the file after the build
        "navbar_end": ["version-switcher", "theme-switcher"],
        "show_version_warning_banner": True,
    }


def widen(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Remove the right sidebar from pages of results, whose tables need the space."""
    if page.startswith("results/"):
        app.add_css_file("results.css")
        context["meta"] = (context.get("meta") or {}) | {"html_theme.sidebar_secondary.remove": True}


def setup(app: Any) -> None:
    """Register with Sphinx."""
    app.connect("html-page-context", widen, priority=100)  # before the theme
