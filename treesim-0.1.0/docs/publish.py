"""Build the site of this version into a folder with one subfolder for each version.

    python docs/publish.py FOLDER [ADDRESS]

ADDRESS is the address at which a web server offers FOLDER (default: http://localhost:8000/). FOLDER then contains
`VERSION/` (the site), and, anew: `index.html`, which leads to the newest release, `404.html`, `switcher.json` (the
versions, for the menu of each page), `llms.txt`, `sitemap.xml`, which lists the sitemap of each version, and
`robots.txt`. Other versions in the folder stay as they are.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import urljoin

from packaging.version import InvalidVersion, Version


def versions(folder: Path) -> list[Version]:
    """Return the versions that a folder contains, the newest first."""
    found = []
    for page in folder.glob("*/index.html"):
        try:
            found.append(Version(page.parent.name))
        except InvalidVersion:  # another folder of the server
            continue
    return sorted(found, reverse=True)


def newest_release(found: list[Version]) -> Version:
    """Return the newest version that is no pre-release; the newest one if there is no release."""
    return next((version for version in found if not version.is_prerelease), found[0])


def write_root(folder: Path, address: str) -> None:
    """Write the files of a folder that belong to all its versions."""
    found = versions(folder)
    preferred = newest_release(found)

    def place(version: Version) -> str:
        return urljoin(address, f"{version}/")

    switcher = [{"version": str(v), "url": place(v), "preferred": v == preferred} for v in found]
    (folder / "switcher.json").write_text(json.dumps(switcher, indent=1), encoding="utf-8")
    redirect = (
        f'<meta http-equiv="refresh" content="0; url={preferred}/"><link rel="canonical" href="{place(preferred)}">'
    )
    title = f'<title>treesim</title><p><a href="{preferred}/">treesim {preferred}</a></p>'
    (folder / "index.html").write_text(f"<!doctype html>{redirect}{title}\n", encoding="utf-8")
    for name in ("404.html", "llms.txt"):
        shutil.copy(folder / str(preferred) / name, folder / name)
    maps = "".join(f"<sitemap><loc>{place(version)}sitemap.xml</loc></sitemap>" for version in found)
    space = "http://www.sitemaps.org/schemas/sitemap/0.9"
    (folder / "sitemap.xml").write_text(
        f'<?xml version="1.0" encoding="UTF-8"?>\n<sitemapindex xmlns="{space}">{maps}</sitemapindex>\n',
        encoding="utf-8",
    )
    (folder / "robots.txt").write_text(f"Sitemap: {urljoin(address, 'sitemap.xml')}\n", encoding="utf-8")


def main(folder: Path, address: str = "http://localhost:8000/") -> None:
    """Build the site of the installed treesim, and write the files of all versions."""
    from treesim import __version__

    address = address.rstrip("/") + "/"
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-j", "auto", "-b", "html"]
    environment = os.environ | {"TREESIM_DOCS_ADDRESS": address}
    subprocess.run([*command, str(Path(__file__).parent), str(folder / __version__)], check=True, env=environment)
    shutil.rmtree(folder / "jupyter_execute", ignore_errors=True)  # MyST-NB's outputs, which the pages contain
    write_root(folder, address)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(Path(sys.argv[1]), *sys.argv[2:])
