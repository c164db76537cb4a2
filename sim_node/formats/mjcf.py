"""Worlds from MJCF, MuJoCo's own format. The model is kept whole. Its files are read here, within the roots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sim_node.formats.assets import Assets, stem
from sim_node.formats.xml_roots import XmlFile, xml_reader
from sim_node.world.bounds import MAX_STAMP_NS
from sim_node.world.model import TimeGrid, World
from sim_node.world.models import Model
from sim_node.world.mujoco_source import (
    ModelSource,
    default_options,
    integrator_number,
    mujoco_fault,
    refusals,
    spec_of,
)
from sim_node.world.physics import INTEGRATORS, Physics
from sim_node.world.problems import Place, Where, WorldError, quoted
from sim_node.world.readers.model_links import keyframes_in, links_in, mujoco_warnings
from sim_node.world.readers.numbers import as_number
from sim_node.world.readers.report import ElementEffect
from sim_node.world.readers.xml_elements import MAX_DEPTH, Element, XmlAttribute

if TYPE_CHECKING:
    from mujoco import MjSpec

FIXED_FRAME = "world"
# Limits on counts with which a short file could allocate all memory, on times, and on masses and densities: element,
# attribute, maximum. With larger masses, MuJoCo's search for the length range of a muscle would never end: it simulates
# up to a time that an unstable simulation, which keeps restarting, does not reach.
MAX_VALUES = {
    ("replicate", "count"): 10_000,
    ("flexcomp", "count"): 1_000,
    ("composite", "count"): 1_000,
    ("texture", "width"): 16_384,
    ("texture", "height"): 6 * 16_384,
    ("texture", "gridsize"): 64,
    ("hfield", "nrow"): 16_384,
    ("hfield", "ncol"): 16_384,
    ("user", "dim"): 10_000,
    ("plugin", "nsample"): 10_000,
    ("numeric", "size"): 1_000_000,
    ("option", "timestep"): MAX_STAMP_NS // 1_000_000_000,
    **{("geom", "mass"): 10**12, ("geom", "density"): 10**12, ("inertial", "mass"): 10**12},
    ("compiler", "settotalmass"): 10**12,
    **{("size", f"nuser_{kind}"): 1_000 for kind in ("body", "jnt", "geom", "site", "cam")},
    **{("size", f"nuser_{kind}"): 1_000 for kind in ("tendon", "actuator", "sensor")},
    **{("size", key): 100_000 for key in ("nuserdata", "nkey", "njmax", "nconmax", "nstack")},
    **{(tag, "nsample"): 10_000 for tag in ("general", "motor", "position", "velocity", "intvelocity", "sensor")},
}  # fmt: skip
MAX_COPIES, MAX_INCLUDED = 100_000, 1000
FOLDERS = {"mesh": "meshdir", "hfield": "meshdir", "skin": "meshdir", "flexcomp": "meshdir", "texture": "texturedir"}
# Elements that become frames.
FRAMES = ("body", "joint", "freejoint", "site")
NAMED_BY_FILE = ("mesh", "hfield", "texture")
# Elements of a model that a world does not use: buffer sizes, statistics and visual settings, which are those of the
# whole world; and some attributes.
_OF_THE_WHOLE = ("size", "statistic", "visual")
_WITHOUT_EFFECT = {
    **{"key": ("time", "mpos", "mquat"), "flag": ("autoreset",)},
    "compiler": ("discardvisual", "fusestatic", "usethread"),
}
# Elements that MuJoCo only provides for programs that query a model: sections, and elements anywhere.
_FOR_PROGRAMS = {
    "sensor": "no topic has it; give the world sensors",
    "camera": "nothing looks through it; give the world a camera",
    "custom": "data for programs",
}
_OWN_OPTIONS = ("timestep", "integrator", "gravity")


@xml_reader("mujoco")
def read_mjcf(file: XmlFile) -> World | None:
    """Return the world of an MJCF file, with its options. If it is invalid, report the errors and return None."""
    if fault := mujoco_fault():
        file.report.error(f"models need MuJoCo, {fault}")
        return None
    errors = len(file.report.errors)
    assets, includes = Assets(file), dict[str, bytes]()
    _read_files(file.root, file, assets, includes)
    if len(file.report.errors) > errors:
        return None
    try:
        return _world(file, assets, includes)
    except WorldError as error:
        file.report.errors.extend(error.problems)
        return None


def _world(file: XmlFile, assets: Assets, includes: dict[str, bytes]) -> World:
    model, spec = model_of(file.root, file, assets, includes)
    option = spec.option
    import mujoco

    step_ns = round(option.timestep * 1e9)
    physics = Physics(
        timestep_ns=step_ns,
        integrator=next(name for name in INTEGRATORS if integrator_number(name) == int(option.integrator)),
        gravity=np.array(option.gravity),
        contact=not option.disableflags & mujoco.mjtDisableBit.mjDSBL_CONTACT,
        options=_options(spec),
        place=Place(Where(str(file.shown), *file.root.at), "option"),
    )
    return World(
        name=file.root.get("model") or file.path.stem,
        fixed_frame=FIXED_FRAME,
        time=TimeGrid(step_ns=step_ns),
        physics=physics,
        models=(model,),
        source=str(file.shown),
    )


def model_of(root: Element, file: XmlFile, assets: Assets, includes: dict[str, bytes]) -> tuple[Model, MjSpec]:
    """Return the model of a root element that refers only to `assets` and `includes`. Raises WorldError."""
    source = ModelSource.of(root, includes, assets.contents)
    place = Place(Where(str(file.shown), *root.at), root.tag)
    if root.tag == "mujoco":
        _mark_unused(root, _OF_THE_WHOLE)
        for element in (
            *root.all("sensor"),
            *root.all("custom"),
            *(e for e in root.descendants() if e.tag == "camera"),
        ):
            at, why = (element.file or file.report.file, element.at), _FOR_PROGRAMS[element.tag]
            file.report.effects.append(ElementEffect(*at, element.tag, "no effect", why))
    with mujoco_warnings(file.report, source), refusals(source):
        spec = spec_of(source)
        compiled = spec.compile()
    if compiled.nu != len(spec.actuators):
        raise WorldError([source.problem("actuators with several controls are not supported")])
    stated = {
        key for element in root.all("option") for key in (*element.attributes, *(c.tag for c in element.children))
    }
    options = {key: getattr(spec.option, key) for key in sorted(stated) if hasattr(spec.option, key)}
    flags = {
        key: value.text == "enable"
        for element in root.all("option")
        for flag in element.all("flag")
        for key, value in flag.attributes.items()
    }
    model = Model(
        name=root.get("model") or root.get("name") or file.path.stem,
        source=source,
        links=links_in(compiled, source, joint_frames=root.tag == "mujoco"),
        parent=FIXED_FRAME,
        keyframes=keyframes_in(compiled),
        actuators=tuple(compiled.actuator(index).name for index in range(compiled.nu)),
        options=options,
        flags=flags,
        place=place,
        parent_place=place,
    )
    return model, spec


def _mark_unused(root: Element, whole: tuple[str, ...]) -> None:
    """Mark the parts of a model that only MuJoCo uses, and defaults of unused classes, as unread again.

    whole: elements that are not used at all.
    """
    for element in root.descendants():
        element.read = element.tag not in whole
        for key in _WITHOUT_EFFECT.get(element.tag, ()):
            if key in element.attributes:
                element.attributes[key].read = False
    having = (each for each in root.descendants() if each.tag != "default")
    classes = {
        each.attributes[key].text for each in having for key in ("class", "childclass") if key in each.attributes
    }
    stack = [inner for outermost in root.all("default") for inner in outermost.children]
    while stack:
        block = stack.pop()
        if block.tag == "default":
            named = (each.attributes.get("class") for each in block.descendants() if each.tag == "default")
            block.read = any(name is not None and name.text in classes for name in named)
            stack += block.children


def _options(spec: MjSpec) -> dict[str, Any]:
    """Return MuJoCo's options that differ from their defaults, except those that World has itself."""
    usual = {name: value for name, value in default_options().items() if name not in _OWN_OPTIONS}
    values = {name: getattr(spec.option, name) for name in usual}
    return {name: np.array(v) if np.ndim(v) else v for name, v in values.items() if np.any(v != usual[name])}


def _read_files(root: Element, file: XmlFile, assets: Assets, includes: dict[str, bytes]) -> None:
    """Expand includes, and read the files that elements refer to. Errors are reported."""
    _expand(root, root, file, {file.path.resolve()}, 0)
    _replace_blanks(root, file)
    _name_plugins(root, file)
    compiler = {key: element.get(key) for element in root.all("compiler") for key in element.attributes}
    folder = compiler.get("assetdir", "")
    folders = {"meshdir": compiler.get("meshdir", folder), "texturedir": compiler.get("texturedir", folder)}
    if _copies(root) > MAX_COPIES:
        _error(file, root, "replicate", f"more than {MAX_COPIES} elements after replication")
    for element in root.all("compiler"):
        for key in ("assetdir", "meshdir", "texturedir", "strippath"):
            element.attributes.pop(key, None)
        if "settotalmass" in element.attributes and file.root is not root:
            _error(file, element, "settotalmass", "is not used in a model within a model; scale its masses")
    for element in root.descendants():
        _check_sizes(element, file)
        for attribute in [key for key in element.attributes if key.startswith("file") and element.get(key)]:
            reference = element.get(attribute)
            if compiler.get("strippath") == "true":
                reference = reference.replace("\\", "/").rpartition("/")[2]
                element.attributes[attribute].text = reference
            if element.tag == "model":
                _read_submodel(element, file, assets, includes)
                continue
            path_read = assets.read(element, attribute, folders.get(FOLDERS.get(element.tag, ""), ""))
            if (
                path_read is not None
                and attribute == "file"
                and element.tag in NAMED_BY_FILE
                and not element.get("name")
            ):
                element.attributes["name"] = XmlAttribute(stem(reference), element.at)


def _expand(element: Element, root: Element, file: XmlFile, above: set[Any], depth: int) -> None:
    """Replace every <include> by the contents of its file."""
    if depth > MAX_DEPTH or len(file.report.files) > MAX_INCLUDED:
        file.report.about(element.file).error(
            "includes are nested too deep, or there are too many files", element.at, "include"
        )
        element.children.clear()
        return
    children: list[Element] = []
    for child in element.children:
        if child.tag != "include":
            _expand(child, root, file, above, depth + 1)
            children.append(child)
            continue
        if not child.get("file"):
            file.report.about(child.file).error("file is missing", child.at, "include")
            continue
        path = Assets(file).find(child, "file")
        if path is None:
            continue
        if path.resolve() in above:
            _error(file, child, "file", f"{path.name} is already included, and MuJoCo allows a file only once")
            continue
        above.add(path.resolve())
        file.report.files.append(path)
        included = file.included(child.get("file"), path)
        if included is not None:
            child.stated += included.root.stated
            _expand(included.root, root, file, above, depth + 1)
            children += included.root.children
    element.children[:] = children


def _read_submodel(element: Element, file: XmlFile, assets: Assets, includes: dict[str, bytes]) -> None:
    """Read a nested model, with its own files, under a unique name."""
    path = assets.find(element, "file")
    if path is None:
        return
    reference = element.get("file")
    if len(includes) >= MAX_INCLUDED:
        _error(file, element, "file", f"more than {MAX_INCLUDED} models in one")
        return
    inner = file.included(reference, path)
    if inner is None:
        return
    root = inner.root
    if root.tag != "mujoco":
        _error(file, element, "file", f"its root element is <{root.tag}>; <mujoco> is needed here")
        return
    name = f"{len(includes)}_{path.stem}.xml"
    includes[name] = b""  # reserved while nested models are read
    within = Assets(inner, assets.contents, assets.names)
    _read_files(root, inner, within, includes)
    includes[name] = ModelSource.of(root, {}, {}).text.encode()
    _mark_unused(root, (*_OF_THE_WHOLE, "option", "keyframe"))
    element.stated += root.stated
    element.attributes["file"].text = name
    if not element.get("name"):
        element.attributes["name"] = XmlAttribute(root.get("model") or stem(reference), element.at)


def _replace_blanks(root: Element, file: XmlFile) -> None:
    """Replace white space in the names of elements that become frames, and in all references to them."""
    used = {element.get("name") for element in root.descendants()}
    renamed: dict[str, str] = {}
    for element in root.descendants():
        name = element.get("name")
        if element.tag in FRAMES and name not in renamed and len(name.split()) > 0 and name != "".join(name.split()):
            renamed[name] = new = _unused("_".join(name.split()), used)
            message = f"the name {quoted(name)} has white space, which frames may not have; it is {new} here"
            file.report.about(element.file).warning(message, element.attributes["name"].at, f"{element.tag}.name")
    if renamed:
        for element in root.descendants():
            for attribute in element.attributes.values():
                attribute.text = renamed.get(attribute.text, attribute.text)


def _name_plugins(root: Element, file: XmlFile) -> None:
    """Name the plug-ins that bodies and shapes configure, because unnamed ones are lost in nested models.

    Replicated ones are rejected: MuJoCo loses them without a name, and crashes if they have one.
    """
    used = {element.get("name") for element in root.descendants()}
    copied = (each for holder in root.descendants() if holder.tag == "replicate" for each in holder.descendants())
    for plugin in {id(each): each for each in copied if each.tag == "plugin"}.values():
        message = "MuJoCo cannot replicate a plug-in; write out what has it, or leave the plug-in out"
        file.report.about(plugin.file).error(message, plugin.at, "replicate.plugin")
    stack = root.all("worldbody")
    while stack:
        holder = stack.pop()
        stack += holder.children
        for plugin in holder.children if holder.tag in ("body", "geom") else ():
            kind = plugin.attributes.get("plugin")
            if plugin.tag != "plugin" or kind is None or "instance" in plugin.attributes:
                continue
            name = XmlAttribute(_unused(f"{kind.text}#", used), plugin.at)
            instance = Element("instance", plugin.at, {"name": name}, plugin.children, file=plugin.file)
            of_kind = Element("plugin", plugin.at, {"plugin": kind}, [instance], file=plugin.file)
            root.children.insert(0, Element("extension", plugin.at, {}, [of_kind], file=plugin.file))
            plugin.attributes, plugin.children = {"instance": name}, []


def _unused(name: str, used: set[str]) -> str:
    while name in used:
        name += "_"
    used.add(name)
    return name


def _check_sizes(element: Element, file: XmlFile) -> None:
    """Report numbers that exceed their limits."""
    for key in [key for key in element.attributes if (element.tag, key) in MAX_VALUES]:
        maximum = MAX_VALUES[element.tag, key]
        if not all(abs(as_number(word)) <= maximum for word in element.get(key).split()):
            _error(file, element, key, f"{quoted(element.get(key))} is out of range; allowed: up to {maximum}")


def _copies(element: Element) -> float:
    """Return the number of elements after expanding every <replicate>."""
    count = as_number(element.get("count")) if element.tag == "replicate" else 1.0
    return (count if count > 1.0 else 1.0) * (1.0 + sum(map(_copies, element.children)))


def _error(file: XmlFile, element: Element, attribute: str, message: str) -> None:
    at = element.attributes[attribute].at if attribute in element.attributes else element.at
    file.report.about(element.file).error(message, at, f"{element.tag}.{attribute}")
