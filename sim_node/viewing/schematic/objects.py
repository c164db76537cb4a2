"""Objects of schematics: `object_3d` and the nodes in it, in a table by node name."""

from __future__ import annotations

from collections.abc import Callable

from sim_node.text import did_you_mean
from sim_node.viewing.schematic.fields import Fields
from sim_node.viewing.schematic.model import GREY, Colour, Drawn, GlbModel, LiveEllipsoid, Object3d, Solid
from sim_node.world.problems import quoted

DrawnReader = Callable[[Fields], "Drawn | None"]
WITHOUT_EFFECT = frozenset({"animate", "icon", "visibility_range", "thruster"})
GLB_SUFFIXES = (".glb", ".gltf")
# Named colours, 0 to 255.
COLOURS: dict[str, tuple[int, int, int]] = {
    "black": (0, 0, 0),
    "white": (255, 255, 255),
    "gray": (128, 128, 128),
    "red": (230, 45, 45),
    "green": (45, 170, 75),
    "blue": (40, 90, 230),
    "orange": (255, 145, 20),
    "yellow": (250, 215, 45),
    "pink": (245, 125, 180),
    "cyan": (30, 190, 220),
    "mint": (125, 225, 175),
    "turquoise": (50, 205, 195),
    # Names from Elodin's palette
    "yalk": (255, 230, 50),
    "slate": (128, 112, 255),
    "pumpkin": (255, 112, 30),
    "yolk": (255, 197, 5),
    "peach": (255, 214, 178),
    "reddish": (233, 50, 10),
    "hyperblue": (20, 97, 209),
}


def read_object(fields: Fields) -> Object3d | None:
    """Read an `object_3d` node. If it is invalid, record the errors and return None."""
    fields.only(("frame", "frame_orientation"), ("orientation",))
    frame, turned = fields.axes(), fields.axes("frame_orientation", "")
    value = fields.argument("the pose at which it is drawn, such as ball.world_pos,")
    pose = None if value is None else fields.parsed(value)
    found: list[Drawn] = []
    for child in fields.node.children:
        read = DRAWN.get(child.name)
        if read is not None:
            drawn = read(Fields(child, fields.source, fields.key))
            found += [] if drawn is None else [drawn]
        elif child.name not in WITHOUT_EFFECT:
            fields.unknown(child, tuple(DRAWN))
    if not fields.node.children:
        fields.error(f"needs a shape in braces: {', '.join(DRAWN)}")
    if len(found) > 1:
        fields.error(f"has {len(found)} shapes; each object_3d has one")
    return None if pose is None or not found else Object3d(pose, found[0], frame, turned, fields.place)


def read_colour(fields: Fields, otherwise: Colour = GREY) -> Colour:
    """Return the colour given by a child node of a shape."""
    colour, latest = otherwise, None
    for child in fields.node.children:
        if child.name in ("emissivity", "grid_color", "visibility_range"):
            continue
        if child.name not in ("color", "colour"):
            fields.unknown(child, ("color",))
            continue
        inner = Fields(child, fields.source, fields.key)
        inner.only(())
        colour = _read_colour(inner)
        if latest is not None:  # the last one is used
            latest.read = False
        latest = child
    return colour


def _read_colour(fields: Fields) -> Colour:
    arguments = fields.node.arguments
    if len(arguments) in (1, 2) and isinstance(arguments[0].value, str):
        name = arguments[0].value
        arguments[0].read = True
        if name not in COLOURS:
            known = f"{did_you_mean(name, COLOURS)} (known: {', '.join(COLOURS)})"
            fields.error(f"unknown colour {quoted(name)}{known}", arguments[0].at)
            return GREY
        parts = [*map(float, COLOURS[name]), *fields.numbers(arguments[1:], 0.0, 255.0)]
    elif len(arguments) in (3, 4):
        parts = fields.numbers(arguments, 0.0, 255.0)
    else:
        fields.error(f"needs red, green, blue and perhaps opacity, 0 to 255, found {len(arguments)} values")
        return GREY
    red, green, blue, *opacity = (part / 255.0 for part in parts)
    return red, green, blue, *(opacity or [1.0])  # type: ignore[return-value]


def _solid(kind: str, *lengths: str) -> DrawnReader:
    """Return the reader of a shape with fixed lengths."""

    def read(fields: Fields) -> Solid:
        fields.only(lengths, ("emissivity",))
        return Solid(kind, tuple(map(fields.length, lengths)), read_colour(fields))

    return read


def read_ellipsoid(fields: Fields) -> LiveEllipsoid:
    """Read an ellipsoid of three radii, or of a covariance."""
    of_covariance = ("error_covariance_cholesky", "error_covariance")
    fields.only(("scale", *of_covariance, "error_confidence_interval"), ("show_grid", "emissivity"))
    name = next((each for each in of_covariance if each in fields.node.properties), None)
    formula = None if name is None else fields.formula(name)
    if formula is None:
        return LiveEllipsoid(fields.formula("scale"), read_colour(fields))
    confidence = fields.number("error_confidence_interval", 0.0, 100.0, text=True)
    inside = {} if confidence is None else {"confidence": confidence}
    return LiveEllipsoid(None, read_colour(fields), formula, factored=name == of_covariance[0], **inside)


def _read_plane(fields: Fields) -> Solid:
    """Read a plane, 10 m wide by default."""
    fields.only(("width", "depth", "size"), ("emissivity",))
    size = fields.above_zero("size") if len(fields.node.properties.keys() & {"width", "depth"}) < 2 else None
    width, depth = (fields.above_zero(name) or size or 10.0 for name in ("width", "depth"))
    return Solid("plane", (width, depth), read_colour(fields))


def read_glb(fields: Fields) -> GlbModel | None:
    """Read a model file."""
    fields.only(("path", "scale", "translate", "rotate"), ("emissivity", "glow", "glow_color"))
    given = fields.read({"scale": Fields.above_zero, "rotate": Fields.triple, "translate": Fields.triple})
    for child in fields.node.children:
        if child.name != "visibility_range":
            fields.unknown(child, ("visibility_range",))
    file = fields.file("path", GLB_SUFFIXES)
    return None if file is None else GlbModel(file, **given)


DRAWN: dict[str, DrawnReader] = {
    "sphere": _solid("sphere", "radius"),
    "box": _solid("box", "x", "y", "z"),
    "cylinder": _solid("cylinder", "radius", "height"),
    "plane": _read_plane,
    "ellipsoid": read_ellipsoid,
    "glb": read_glb,
}
