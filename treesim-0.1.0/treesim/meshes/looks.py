"""Colours and images of the geometries of a mesh file. Imports nothing of treesim."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np

from .images import Image, Images

NO_UV = "the mesh has no texture coordinates; give it some, or a colour"


class Look(NamedTuple):
    """Colours and image of a geometry with n vertices.

    colors: (n, 3) uint8, sRGB, or None. uv: texture coordinates (n, 2) float32 with v upwards. image: the
    texture, multiplied by the colours. uv and image are None without an image.
    """

    colors: np.ndarray | None
    uv: np.ndarray | None
    image: Image | None


class Looks:
    """Colours and images of a file's geometries, as trimesh read them.

    linear: True if the file's colours are linear, as in glTF. texture: image file for geometries with texture
    coordinates and no image of their own, or None.
    """

    def __init__(self, images: Images, linear: bool, texture: str | None) -> None:
        self._images, self._linear, self._texture = images, linear, texture
        self._textured = False  # whether a geometry has an image, be it a broken one

    def of(self, mesh: Any) -> Look:
        """Return the look of a trimesh.Trimesh; opacity is ignored, as it is often wrong in COLLADA files."""
        visual, count = mesh.visual, len(mesh.vertices)
        if visual.kind != "texture":
            colors = None if visual.kind is None else np.asarray(visual.vertex_colors[:, :3], np.uint8)
            return Look(colors if colors is None else self._coded(colors / 255.0), None, None)
        uv, own = _coordinates(visual.uv, count), _image_of(visual.material)
        image = self._image(uv, own)
        if own is None and image is not None:  # of the robot's description
            return Look(None, uv, image)
        factor = _factor(visual.material, own is not None, image is not None)
        shades = _shades(getattr(visual, "vertex_attributes", {}).get("color"), count)
        if factor is None and shades is None:
            return Look(None, None if image is None else uv, image)
        levels = np.ones((count, 3)) * (1.0 if factor is None else factor) * (1.0 if shades is None else shades)
        return Look(self._coded(levels), None if image is None else uv, image)

    def report(self) -> None:
        """Report a texture that no geometry has coordinates for; to be called after the last geometry."""
        if self._texture is not None and not self._textured:
            self._images.without(os.path.basename(self._texture), NO_UV)

    def _image(self, uv: np.ndarray | None, own: Any) -> Image | None:
        self._textured |= own is not None or uv is not None
        if own is not None:
            return self._images.coded(own, "" if uv is not None else NO_UV)
        return self._images.in_file(self._texture) if self._texture is not None and uv is not None else None

    def _coded(self, levels: np.ndarray) -> np.ndarray:
        """Convert levels from 0 to 1 to sRGB bytes (IEC 61966-2-1)."""
        if self._linear:
            levels = np.where(levels <= 0.0031308, 12.92 * levels, 1.055 * levels ** (1 / 2.4) - 0.055)
        return np.rint(255 * levels.clip(0, 1)).astype(np.uint8)


def _coordinates(uv: Any, count: int) -> np.ndarray | None:
    """Return the texture coordinates (count, 2); None if they are missing or invalid."""
    if uv is None or np.ndim(uv) != 2 or np.shape(uv)[0] != count or np.shape(uv)[1] < 2:
        return None
    uv = np.asarray(uv, np.float32)[:, :2]
    return uv if np.isfinite(uv).all() else None


def _image_of(material: Any) -> Any:
    """Return the image of the base colour as PIL has it; None if there is none or trimesh generated it."""
    found = (getattr(material, name, None) for name in ("image", "baseColorTexture"))
    return next((image for image in found if hasattr(image, "source") or getattr(image, "format", None)), None)


def _factor(material: Any, textured: bool, drawn: bool) -> np.ndarray | None:
    """Return the base colour (3,) from 0 to 1; None if the material has none.

    textured, drawn: True if it has an image, and if this is drawn. Black next to a drawn image is ignored, as
    many exporters write it.
    """
    if hasattr(material, "baseColorFactor"):
        color = material.baseColorFactor
        color = None if color is None and textured else [255] * 3 if color is None else color
    else:
        color = material.diffuse if "kd" in getattr(material, "kwargs", {}) else None
    if color is None:
        return None
    levels = np.asarray(color[:3], float) / 255
    meaningless = textured and (levels.min() == 1 or (drawn and levels.max() == 0))
    return None if meaningless else levels


def _shades(colors: Any, count: int) -> np.ndarray | None:
    """Return the vertex colours (count, 3) from 0 to 1, or None."""
    if colors is None or np.ndim(colors) != 2 or np.shape(colors)[0] != count or np.shape(colors)[1] < 3:
        return None
    most = np.iinfo(colors.dtype).max if np.issubdtype(colors.dtype, np.integer) else 1.0
    levels = np.asarray(colors, float)[:, :3] / most
    return levels if np.isfinite(levels).all() else None
