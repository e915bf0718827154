"""Formulas: MathJax from the npm registry, checked by its hash, becomes a part of the site."""

from __future__ import annotations

import base64
import hashlib
import io
import tarfile
import urllib.request
from pathlib import Path
from typing import Any

SOURCE = "https://registry.npmjs.org/mathjax/-/mathjax-3.2.2.tgz"
SHA512 = "Bt+SSVU8eBG27zChVewOicYs7Xsdt40qm4+UpHyX7k0/O9NliPc+x77k1/FEsPsjKPZGJvtRZM1vO+geW0OhGw=="
WANTED = ("package/es5/tex-chtml.js", "package/es5/output/chtml/fonts/")
STORE = Path(__file__).parents[2] / "build" / "mathjax.tgz"


def package() -> bytes:
    """Return the package, which is downloaded once; raises ValueError if it has another hash."""
    data = STORE.read_bytes() if STORE.exists() else b""
    if base64.b64encode(hashlib.sha512(data).digest()).decode() != SHA512:
        with urllib.request.urlopen(SOURCE, timeout=120) as answer:
            data = answer.read()
        if base64.b64encode(hashlib.sha512(data).digest()).decode() != SHA512:
            raise ValueError(f"{SOURCE} does not have the expected hash")
        STORE.parent.mkdir(parents=True, exist_ok=True)
        STORE.write_bytes(data)
    return data


def write(app: Any) -> None:
    """Extract the files that pages need to the static files of the site."""
    folder = Path(app.outdir, "_static", "mathjax")
    with tarfile.open(fileobj=io.BytesIO(package())) as archive:
        for member in archive.getmembers():
            if member.isfile() and member.name.startswith(WANTED):
                path = folder / Path(member.name).relative_to("package/es5")
                path.parent.mkdir(parents=True, exist_ok=True)
                content: Any = archive.extractfile(member)
                path.write_bytes(content.read())


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.setup_extension("sphinx.ext.mathjax")
    app.config.mathjax_path = "mathjax/tex-chtml.js"
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True}
