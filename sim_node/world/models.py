"""MJCF and URDF models in a World, kept whole as MuJoCo reads them; their links as frames, and their settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from sim_node import names
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.fields import compared
from sim_node.world.joints import LinkJoint, link_pose
from sim_node.world.kinds import Mobility
from sim_node.world.model import World
from sim_node.world.mujoco_source import ModelSource, default_options, integrator_number
from sim_node.world.part import FrameEntry, Kind, Refer, Rename, part
from sim_node.world.physics import INTEGRATORS, Physics
from sim_node.world.problems import NO_PLACE, Place, Problem, quoted
from sim_node.world.shapes import Geometry
from sim_node.world.surfaces import CONES, FLAGS
from sim_node.world.writers.values import one_or_more

# Options of which MuJoCo has a single one for all contacts.
SETTINGS = (
    *("cone", "impratio", "noslip_iterations", "noslip_tolerance", "ccd_iterations", "ccd_tolerance"),
    *("o_margin", "o_solref", "o_solimp", "o_friction"),
)
# Flags that a world adopts from its models, on how constraints are solved. Others would change the rest of the world.
SHARED_FLAGS = (*FLAGS, "override")
# The flag for contacts of a single model, see `touches`; and flags without effect on the motion.
_CONTACT, _WITHOUT_EFFECT = "contact", ("energy", "fwdinv", "sensor", "autoreset")


@compared
class Link:
    """A frame of a model: one of its bodies, or the frame of a joint or site, fixed to a body.

    parent: name of its parent in the model, empty for the frame that the model is attached to; pose (7,): in the parent
    with neutral joints; is_body: whether it is a MuJoCo body.
    """

    name: str
    parent: str
    pose: FloatArray
    joints: tuple[LinkJoint, ...] = ()
    is_body: bool = True
    place: Place = NO_PLACE

    def at(self, q: Mapping[str, FloatArray]) -> FloatArray:
        """Return its pose (7,) in its parent for joint positions q. Joints that are not in q are neutral."""
        return link_pose(self.pose, self.joints, q)


@compared
class Start:
    """An initial state: q and qd by joint, and act and ctrl of all actuators in the model's order.

    followers: q of joints that follow those in q, because they are coupled.
    """

    q: Mapping[str, FloatArray] = field(default_factory=dict)
    qd: Mapping[str, FloatArray] = field(default_factory=dict)
    act: FloatArray = field(default_factory=lambda: np.zeros(0))
    ctrl: FloatArray = field(default_factory=lambda: np.zeros(0))
    followers: Mapping[str, FloatArray] = field(default_factory=dict)


@compared
class Model:
    """An MJCF or URDF model attached to a frame of the world.

    Attributes:
        name: The name in its file.
        source: The model as MuJoCo reads it.
        links: Its links, parents first.
        parent: The frame that it is attached to.
        prefix: Goes before the names of its frames, and of everything in MuJoCo.
        start: The initial state.
        keyframes: Named states in the model's file.
        actuators: Names of the actuators in the model, in its order.
        mimics: URDF joints that follow another one: (joint, followed joint, multiplier, offset).
        speeds: URDF joints that actuators may not drive faster: (joint, m/s or rad/s).
        options: MuJoCo options that the file sets. A world adopts those of contacts, and overrides the others.
        flags: Whether parts of MuJoCo's pipeline are on, by name, as far as the file states it.
        read_with: Keys of the include with which its file was read, as in a world file.
        shown: Meshes that are only shown, and the names of their links.
        urdf: The text of a URDF model with absolute paths of meshes; empty for other models.
        files: All files that were read for it, its own first.
        place: Where the world's file includes it.
        parent_place: Where the world's file gives the parent.
    """

    name: str
    source: ModelSource
    links: tuple[Link, ...]
    parent: str
    prefix: str = ""
    start: Start = field(default_factory=Start)
    keyframes: Mapping[str, Start] = field(default_factory=dict)
    actuators: tuple[str, ...] = ()
    mimics: tuple[tuple[str, str, float, float], ...] = ()
    speeds: tuple[tuple[str, float], ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    flags: Mapping[str, bool] = field(default_factory=dict)
    read_with: Mapping[str, Any] = field(default_factory=dict)
    shown: tuple[tuple[str, Geometry], ...] = ()
    urdf: str = ""
    files: tuple[Path, ...] = ()
    place: Place = NO_PLACE
    parent_place: Place = NO_PLACE

    def joints(self) -> Iterator[LinkJoint]:
        """Return its joints, parents first."""
        return (joint for link in self.links for joint in link.joints)

    def full_name(self, name: str) -> str:
        """Return the name of a link or joint in the world.

        Args:
            name: The name in the model.

        Returns:
            The name with the prefix.
        """
        return names.prefixed(self.prefix, name)

    def moves(self) -> bool:
        """Return whether it has any joint."""
        return any(link.joints for link in self.links)

    def floats(self) -> bool:
        """Return whether it has a free joint, whose parent must be the fixed frame."""
        return any(joint.kind == "free" for joint in self.joints())

    def starts(self) -> dict[str, FloatArray]:
        """Return the initial q of every joint: as given, as it follows from coupled joints, or neutral."""
        given = {**self.start.q, **self.start.followers}
        q = {joint.name: given.get(joint.name, joint.neutral) for joint in self.joints()}
        for joint, followed, multiplier, offset in self.mimics:
            if joint not in given and joint in q and followed in q:
                q[joint] = q[followed] * multiplier + offset
        return q


@dataclass(frozen=True, slots=True, eq=False)
class ModelLink:
    """A link as a frame of the tree. pose (7,): initial pose in its parent."""

    model: Model
    link: Link
    pose: FloatArray

    @property
    def name(self) -> str:
        """The name of the frame."""
        return self.model.full_name(self.link.name)

    @property
    def parent(self) -> str:
        """The name of the parent frame."""
        return self.model.full_name(self.link.parent) if self.link.parent else self.model.parent

    @property
    def joints(self) -> tuple[LinkJoint, ...]:
        """Its joints, by their names in the world and in MuJoCo."""
        return tuple(replace(joint, name=self.model.full_name(joint.name)) for joint in self.link.joints)

    def start(self) -> FloatArray:
        """Return its pose (7,) in its parent at the start."""
        return self.pose

    @property
    def mobility(self) -> Mobility:
        """ "dynamic" if it has joints, else "static"."""
        return "dynamic" if self.link.joints else "static"


def links_of(model: Model) -> Iterator[ModelLink]:
    """Return the links of a model, parents first."""
    q = model.starts()
    return (ModelLink(model, link, link.at(q)) for link in model.links)


def physics_of(world: World) -> Physics:
    """Return the physics of a checked world, including the settings of its models."""
    found = dict(_settings_of_models(world))
    if not found:
        return world.physics
    physics = world.physics
    flags = {key.removeprefix("flag "): value for key, (value, _) in found.items() if key.startswith("flag ")}
    options = {key: value for key, (value, _) in found.items() if key in SETTINGS}
    cone, impratio = options.pop("cone", None), options.pop("impratio", None)
    return replace(
        physics,
        cone=physics.cone if cone is None else CONES[int(cone)],
        impratio=physics.impratio if impratio is None else float(impratio),
        flags={**flags, **physics.flags},
        options={**physics.options, **options},
    )


def touches(model: Model, world: World) -> bool:
    """Return whether a model can collide: its file may disable its own contacts."""
    return model.flags.get(_CONTACT, True) or not world.physics.contact


def adopted_settings(world: World) -> Iterator[Problem]:
    """Yield for each model the settings that the whole world adopts from it, if they differ from MuJoCo's defaults."""
    if not world.models:
        return
    usual = {**default_options(), **world.physics.options}
    by_model: dict[Place, list[str]] = {}
    for key, (value, model) in _settings_of_models(world):
        if not is_same(value, _here(key, world, usual)):
            by_model.setdefault(model.place, []).append(f"{key} {_shown(key, value)}")
    for place, found in by_model.items():
        yield place.problem(f"the whole world takes over from the model: {', '.join(found)}")


def contradicting_settings(world: World) -> Iterator[Problem]:
    """Yield settings and flags of models that cannot be honoured."""
    if not world.models:  # worlds with models imply that MuJoCo can be imported
        return
    usual = {**default_options(), **world.physics.options}
    stated = _stated(world)
    first: dict[str, tuple[Any, Model]] = {}
    for model in world.models:
        for key, value in _settings(model).items():
            other = stated[key] if key in stated else first.setdefault(key, (value, model))[0]
            if not is_same(value, other):
                whose = "of this world" if key in stated else f"of the model {first[key][1].name}"
                message = f"the model's {key} {_shown(key, value)} contradicts the {key} {_shown(key, other)} {whose}"
                yield model.place.problem(f"{message}; there is one for all of a world")
        for name, is_on in model.flags.items():
            here = _here(f"flag {name}", world, usual)
            if name not in (*SHARED_FLAGS, *_WITHOUT_EFFECT, _CONTACT) and is_on != here:
                message = f"the model's flag {name} {_shown('flag ', is_on)} would count for the whole world"
                yield model.place.problem(
                    f"{message}; take it out of the model, or run the model by itself",
                )


def _settings_of_models(world: World) -> Iterator[tuple[str, tuple[Any, Model]]]:
    """Yield each setting of models that the world does not state, and the first model that has it."""
    stated = _stated(world)
    seen: set[str] = set()
    for model in world.models:
        for key, value in _settings(model).items():
            if key not in stated and key not in seen:
                seen.add(key)
                yield key, (value, model)


def _settings(model: Model) -> dict[str, Any]:
    flags = {f"flag {name}": is_on for name, is_on in model.flags.items() if name in SHARED_FLAGS}
    return {**{key: value for key, value in model.options.items() if key in SETTINGS}, **flags}


def _stated(world: World) -> dict[str, Any]:
    physics = world.physics
    found: dict[str, Any] = {f"flag {name}": is_on for name, is_on in physics.flags.items()}
    if physics.cone is not None:
        found["cone"] = CONES.index(physics.cone)
    if physics.impratio is not None:
        found["impratio"] = physics.impratio
    return found


def _here(key: str, world: World, options: Mapping[str, Any]) -> Any:
    """Return the value of a setting, or whether a flag is on, disregarding the models."""
    if not key.startswith("flag "):
        return options[key]
    import mujoco

    name = key.removeprefix("flag ")
    if name in world.physics.flags:
        return world.physics.flags[name]
    disabling = getattr(mujoco.mjtDisableBit, f"mjDSBL_{name.upper()}", None)
    if disabling is not None:
        return not int(options["disableflags"]) & int(disabling)
    enabling = getattr(mujoco.mjtEnableBit, f"mjENBL_{name.upper()}", 0)
    return bool(int(options["enableflags"]) & int(enabling))


def is_same(one: Any, other: Any) -> bool:
    """Return whether two values of a setting are equal up to rounding."""
    return bool(np.allclose(one, other, rtol=1e-9, atol=0.0))


def model_problems(world: World) -> Iterator[Problem]:
    """Yield every problem of the parents of a world's models."""
    yield from contradicting_settings(world)
    standing = {frame.name: frame.parent for frame in (*world.frames, *world.sensors)}
    standing.update({body.name: body.parent for body in world.bodies if not body.type.parts})
    moved = {motion.frame for motion in world.motions}
    for model in world.models:
        above = model.parent
        for _ in range(len(standing) + 1):
            above = standing.get(above, above)
        if above in moved:
            message = f"{quoted(above)} follows keyframes; the parent of a model must be the fixed frame or a body"
            yield model.parent_place.problem(message)
        elif model.floats() and above != world.fixed_frame:
            yield model.parent_place.problem(f"the parent of a free model must be the fixed frame, not {quoted(above)}")


def overridden_options(world: World) -> Iterator[Problem]:
    """Yield MuJoCo options that a model's file sets and the including world overrides."""
    for model in world.models:
        here = _options(world.physics, world)
        differing = [
            key
            for key, value in model.options.items()
            if key in here and key not in SETTINGS and not is_same(value, here[key])
        ]
        if differing:
            found = ", ".join(
                f"{key} {_shown(key, model.options[key])} (here {_shown(key, here[key])})" for key in differing
            )
            yield model.place.problem(f"the world's physics overrides the model's: {found}")
    yield from adopted_settings(world)


def _options(physics: Physics, world: World) -> dict[str, Any]:
    """Return the world's options by MuJoCo's names."""
    return {
        **default_options(),
        **physics.options,
        "timestep": world.time.step_ns / max(physics.substeps(world.time.step_ns), 1) / 1e9,
        "integrator": integrator_number(physics.integrator),
        "gravity": physics.gravity,
    }


def _shown(key: str, value: Any) -> str:
    """Return the value of a setting, an option or a flag as text."""
    if key == "cone":
        return CONES[int(value)]
    if key == "integrator":
        return next(name for name in INTEGRATORS if integrator_number(name) == int(value))
    if key.startswith("flag "):
        return "enable" if value else "disable"
    return str(value.tolist()) if isinstance(value, np.ndarray) else f"{value:g}"


@part("models", Model)
class ModelParts(Kind[Model]):
    """Models that are kept whole, from MJCF or URDF."""

    section = "include"

    def entries(self, world: World) -> Iterator[FrameEntry]:
        """Return the links. Problems of the topmost links' parent are located where the model is attached."""
        for model in self.parts(world):
            for link in links_of(model):
                yield FrameEntry(link.name, link.parent, link, link.link.place, model.parent_place, link)

    def data(self, part: Model, refer: Refer) -> dict[str, Any]:
        """Return the include of its file, and the initial state of its joints."""
        found = ((name, state) for name, state in part.keyframes.items() if _begins_at(part.start, state))
        keyframe, begin = next(found, ("", Start()))
        q = _changed(part.start.q, begin.q)
        qd = _changed(part.start.qd, begin.qd)
        data = {"file": refer(part.files[0]) if part.files else "", "prefix": part.prefix, "parent": part.parent}
        return {
            **data,
            "free": part.floats(),
            **({"keyframe": keyframe} if keyframe else {}),
            **({"q": q} if q else {}),
            **({"qd": qd} if qd else {}),
            **part.read_with,
        }

    def problems(self, world: World) -> Iterator[Problem]:
        """Return every problem of the models' parents and settings."""
        return model_problems(world)

    def renamed(self, part: Model, rename: Rename) -> Model:
        """Return the model below the prefix, with the location of the include."""
        prefix = rename.under(part.prefix).strip("/")
        return replace(part, prefix=prefix, place=rename.place, **rename.below(part))


def _begins_at(start: Start, keyframe: Start) -> bool:
    """Return whether a start is based on a keyframe: equal except for the state of joints."""
    same = replace(start, q={}, qd={}, followers={}) == replace(keyframe, q={}, qd={})
    return same and keyframe.q.keys() <= start.q.keys() and keyframe.qd.keys() <= start.qd.keys()


def _changed(state: Mapping[str, FloatArray], begin: Mapping[str, FloatArray]) -> dict[str, Any]:
    """Return the values of a start that differ from those of a keyframe, by joint."""
    changed = {joint: value for joint, value in state.items() if not np.array_equal(value, begin.get(joint, ()))}
    return {joint: one_or_more(value) for joint, value in changed.items()}
