"""The visible and touchable shapes of URDF links, and their colors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from linkwright.formats.robot.description import LinkShape
from linkwright.formats.robot.omissions import Leftovers
from linkwright.formats.robot.xml import XmlElement
from linkwright.formats.urdf.origins import place_of

Color: TypeAlias = tuple[float, float, float, float]
GEOMETRIES = ("box", "cylinder", "sphere", "capsule", "mesh")


@dataclass(slots=True)
class Colors:
    """The colors that materials with names have."""

    named: dict[str, Color] = field(default_factory=dict)

    @classmethod
    def of(cls, root: XmlElement, left: Leftovers) -> Colors:
        """Return the colors of all materials of a file, wherever they stand."""
        found = cls()
        inside = (v for link in root.all("link") for v in link.all("visual"))
        for owner in (root, *inside):
            for material in owner.all("material"):
                found._add(material, left)
        return found

    def _add(self, material: XmlElement, left: Leftovers) -> None:
        left.rest(material, ("color",), ("name",), why="only colors are read of materials")
        color = _color(material)
        name = material.attributes.get("name", "").strip()
        if color is None or not name:
            return
        if self.named.setdefault(name, color) != color:
            why = "the first material of that name counts"
            left.add(f"a second <material name={name!r}>", material.line, why)

    def visual(self, element: XmlElement) -> Color | None:
        """Return the color of a ``<visual>``: its own, or that of its material's name."""
        material = element.one("material")
        if material is None:
            return None
        own = _color(material)
        return self.named.get(material.attributes.get("name", "").strip()) if own is None else own


def _color(material: XmlElement) -> Color | None:
    element = material.one("color")
    if element is None:
        return None
    red, green, blue, alpha = (min(1.0, max(0.0, v)) for v in element.numbers("rgba", 4))
    return red, green, blue, alpha


def link_shapes(link: XmlElement, colors: Colors, left: Leftovers) -> tuple[LinkShape, ...]:
    """Return the shapes of a link, in the order of the file."""
    found = []
    for element in link.all("visual", "collision"):
        left.rest(element, ("origin", "geometry", "material"), ("name",))
        shape = _shape(element, colors, left)
        if shape is not None:
            found.append(shape)
    return tuple(found)


def _shape(element: XmlElement, colors: Colors, left: Leftovers) -> LinkShape | None:
    geometry = element.required("geometry")
    left.rest(geometry, GEOMETRIES)
    solids = list(geometry.all(*GEOMETRIES))
    if len(solids) > 1:
        raise solids[1].error("a second solid in the same <geometry>", "keep one of them")
    if not solids:
        return None
    solid = solids[0]
    size, scale = _size(solid), (1.0, 1.0, 1.0)
    mesh = ""
    if solid.tag == "mesh":
        mesh, scale = solid.value("filename"), solid.triple("scale", scale)
    return LinkShape(
        solid.tag,
        size,
        place_of(element, left),
        mesh,
        scale,
        colors.visual(element) if element.tag == "visual" else None,
        seen=element.tag == "visual",
        touched=element.tag == "collision",
        name=element.attributes.get("name", "").strip(),
        material=_material(element) if element.tag == "visual" else "",
    )


def _material(visual: XmlElement) -> str:
    material = visual.one("material")
    return "" if material is None else material.attributes.get("name", "").strip()


def _size(solid: XmlElement) -> tuple[float, ...]:
    if solid.tag == "box":
        size = solid.numbers("size", 3)
    elif solid.tag == "sphere":
        size = (solid.number("radius"),)
    elif solid.tag == "mesh":
        return ()
    else:
        size = (solid.number("radius"), solid.number("length"))
    if min(size) < 0.0:
        raise solid.error(f"a measure of {solid.words} is negative", "give 0 or more")
    return size
