"""Panels as text are read as the same panels."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sim_node.viewing.schematic import GraphPanel, Split, Tabs, Viewport, formula, read_schematic
from sim_node.viewing.schematic.model import DataPanel, Panel, Window
from sim_node.viewing.schematic.writing import text_of

names = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), max_size=12)
# Shares are numbers of pages, which have three or four digits.
shares = st.none() | st.integers(1, 1000).map(lambda part: part / 1000.0)
common = st.fixed_dictionaries({"name": names, "active": st.booleans(), "share": shares})
formulas = st.sampled_from(
    [
        "a.world_pos",
        "'front-left'.world_pos",
        "/odom.pose.pose.position.z",
        "a.x + (0, 0, 1)",
        "a.world_pos.rotate_x(3)",
    ]
).map(formula)
axes = st.sampled_from(["ENU", "NED", "ECEF"])
numbers = st.floats(-1e6, 1e6)


def made(of: type[Panel], /, **given: st.SearchStrategy[object]) -> st.SearchStrategy[Panel]:
    return st.builds(lambda shared, own: of(**shared, **own), common, st.fixed_dictionaries(given))


leaves = st.one_of(
    made(
        Viewport,
        pos=st.none() | formulas,
        look_at=st.none() | formulas,
        fov=st.floats(1, 170),
        show_grid=st.booleans(),
        frame=axes,
    ),
    made(
        GraphPanel,
        curves=st.lists(formulas, min_size=1, max_size=3).map(tuple),
        limits=st.none() | st.tuples(numbers, numbers).filter(lambda ends: ends[0] < ends[1]),
        style=st.sampled_from(["line", "point", "bar"]),
    ),
    made(GraphPanel, curves=formulas.map(lambda each: (each,)), style=st.just("table")),
    made(DataPanel, kind=st.sampled_from(["component_monitor"]), formula=formulas),
    made(
        DataPanel,
        kind=st.just("orientation_gauge"),
        formula=formulas,
        display=st.sampled_from(["ENU", "NED", "ECEF"]),
        source=axes,
        reference=st.tuples(*[st.floats(-1, 1)] * 4),
    ),
    made(DataPanel, kind=st.sampled_from(["sensor_view", "video_stream", "action_pane"]), of=names.filter(bool)),
    made(DataPanel, kind=st.sampled_from(["scene", "inspector", "hierarchy", "data_overview", "log_stream"])),
)


def holders(inside: st.SearchStrategy[Panel]) -> st.SearchStrategy[Panel]:
    panels = st.lists(inside, min_size=1, max_size=3).map(tuple)
    return made(Tabs, panels=panels) | made(Split, panels=panels, horizontal=st.booleans())


trees = st.recursive(leaves, holders, max_leaves=8)
windows = st.builds(
    lambda name, rect, panel: Window(name=name, rect=rect, panels=(panel,)),
    names,
    st.tuples(*[st.floats(0, 100)] * 4),
    trees,
)


@given(st.lists(trees | windows, max_size=3))
def test_what_is_written_is_read_as_the_same_panels(panels: list[Panel]) -> None:
    schematic = read_schematic(text_of(panels))
    assert schematic.panels == tuple(panels)
    assert schematic.notes == ()
