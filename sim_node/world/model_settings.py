"""Settings of contacts and flags of MuJoCo that models bring: what the whole world takes over, and contradictions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from sim_node.world.model import World
from sim_node.world.models import Model
from sim_node.world.mujoco_source import default_options
from sim_node.world.physics import Physics
from sim_node.world.problems import Place, Problem
from sim_node.world.surfaces import CONES, FLAGS

# MuJoCo has one of each for all contacts.
SETTINGS = (
    *("cone", "impratio", "noslip_iterations", "noslip_tolerance", "ccd_iterations", "ccd_tolerance"),
    *("o_margin", "o_solref", "o_solimp", "o_friction"),
)
# Flags that a world takes over from its models: how constraints are solved. Others would change the rest of the world.
SHARED_FLAGS = (*FLAGS, "override")
# Of one model; see `touches`. Not of the motion.
_CONTACT, _WITHOUT_EFFECT = "contact", ("energy", "fwdinv", "sensor", "autoreset")


def physics_of(world: World) -> Physics:
    """Return the physics of a checked world with what its models bring."""
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
    """Return whether a model makes contact: its file may switch its own contacts off."""
    return model.flags.get(_CONTACT, True) or not world.physics.contact


def adopted_settings(world: World) -> Iterator[Problem]:
    """Yield for each model what the whole world takes over from it, where that is not MuJoCo's default."""
    if not world.models:
        return
    usual = {**default_options(), **world.physics.options}
    by_model: dict[Place, list[str]] = {}
    for key, (value, model) in _settings_of_models(world):
        if not is_same(value, _here(key, world, usual)):
            by_model.setdefault(model.place, []).append(_shown(key, value))
    for place, found in by_model.items():
        yield Problem(place.where, place.key, f"the whole world takes over from the model: {', '.join(found)}")


def contradicting_settings(world: World) -> Iterator[Problem]:
    """Yield settings and flags of models that cannot be honoured."""
    if not world.models:  # which MuJoCo has read
        return
    usual = {**default_options(), **world.physics.options}
    stated = _stated(world)
    first: dict[str, tuple[Any, Model]] = {}
    for model in world.models:
        for key, value in _settings(model).items():
            other = stated[key] if key in stated else first.setdefault(key, (value, model))[0]
            if not is_same(value, other):
                whose = "of this world" if key in stated else f"of the model {first[key][1].name}"
                message = f"the model's {_shown(key, value)} contradicts the {_shown(key, other)} {whose}"
                yield Problem(model.place.where, model.place.key, f"{message}; there is one for all of a world")
        for name, is_on in model.flags.items():
            here = _here(f"flag {name}", world, usual)
            if name not in (*SHARED_FLAGS, *_WITHOUT_EFFECT, _CONTACT) and is_on != here:
                message = f"the model's {_shown(f'flag {name}', is_on)} would count for the whole world"
                yield Problem(
                    model.place.where,
                    model.place.key,
                    f"{message}; take it out of the model, or run the model by itself",
                )


def _settings_of_models(world: World) -> Iterator[tuple[str, tuple[Any, Model]]]:
    """Yield each setting that a model brings and the world does not state, and the first model that does."""
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
    """Return the value of a setting, or whether a flag is on, without the models."""
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


def _shown(key: str, value: Any) -> str:
    if key == "cone":
        return f"cone {CONES[int(value)]}"
    if key.startswith("flag "):
        return f"{key} {'enable' if value else 'disable'}"
    return f"{key} {value.tolist() if isinstance(value, np.ndarray) else f'{value:g}'}"
