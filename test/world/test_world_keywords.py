"""The kinds of parts are keywords and attributes of a World that help, editors and type checkers know."""

from __future__ import annotations

import inspect
import pydoc
from dataclasses import replace

import pytest

from sim_node.world import Body, Ground, Light, Model, Sky, StaticFrame, World
from sim_node.world.model import NO_PARTS
from sim_node.world.part import PARTS, Kind

CORE = {name: kind for name, kind in PARTS.items() if ".extensions." not in PARTS.module_of(name)}
FRAME = StaticFrame("pad", "map", [1, 2, 3, 0, 0, 0, 1])  # type: ignore[arg-type]


def test_every_kind_of_the_core_is_a_keyword_of_its_class_of_parts() -> None:
    """In the order of the registry, and no others."""
    found = {
        name: parameter.annotation
        for name, parameter in inspect.signature(World).parameters.items()
        if parameter.default is NO_PARTS
    }
    assert found == {
        name: f"{kind.type.__name__} | None" if kind.single else f"Iterable[{kind.type.__name__}]"
        for name, kind in CORE.items()
    }
    assert list(found) == list(CORE)


def test_help_names_and_describes_every_kind_of_the_core() -> None:
    text = pydoc.plain(pydoc.render_doc(World))
    for name in CORE:
        assert f"{name}: " in text.partition("Args:")[2].partition("Raises:")[0]
        assert f"{name}: '" in text or f"{name}: Iterable" in text or f"{name}=" in text, name


def test_type_checkers_know_the_classes_of_keywords_and_attributes() -> None:
    """mypy --strict reports an `ignore` that is not needed: each of these is an error for it."""
    world = World("w", frames=[FRAME], bodies=[], sky=None)
    frames: tuple[StaticFrame, ...] = world.frames
    bodies: tuple[Light, ...] = world.bodies  # type: ignore[assignment]
    models: tuple[Body, ...] = world.models  # type: ignore[assignment]
    sky: Sky | None = world.sky
    ground: Sky | None = world.ground  # type: ignore[assignment]
    wrong = World("w", models=[FRAME], ground=(Ground(),))  # type: ignore[list-item, arg-type]
    assert (frames, bodies, models, sky, ground) == ((FRAME,), (), (), None, None)
    assert len(wrong.of(Model)) == 1


def test_keywords_replace_what_parts_has_and_leave_the_rest() -> None:
    sky = Sky()
    world = World("w", parts={"frames": [FRAME], "sky": [sky]})
    assert (world.frames, world.sky) == ((FRAME,), sky)
    assert replace(world, name="v").parts == world.parts
    assert dict(replace(world, frames=()).parts) == {"sky": (sky,)}
    assert dict(replace(world, sky=None).parts) == {"frames": (FRAME,)}


def test_a_kind_of_a_plug_in_is_a_keyword_and_an_attribute() -> None:
    class Lamp: ...

    lamp = Lamp()
    with PARTS.extended({"lamps": Kind("lamps", Lamp)}):
        assert World("w", lamps=[lamp], frames=[FRAME]).lamps == (lamp,)
    with pytest.raises(TypeError, match="unexpected keyword argument 'lamps'"):
        World("w", lamps=[lamp])


def test_a_misspelt_kind_is_answered_with_its_name() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'sensor'; did you mean sensors"):
        World("w", sensor=[])
