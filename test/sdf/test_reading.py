"""What is read of SDF files: includes, formats, faults with their places, and what has no effect."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sim_node.cli.main import main
from sim_node.extensions.sdf.directional_friction import DirectionalFriction
from sim_node.spatial.geometry import poses
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import WorldError, WorldWarning, load, loads
from sim_node.world.audit import audit
from sim_node.world.layout import lay_out
from sim_node.world.model import World

MASS = "<inertial><mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>"
SPHERE = "<geometry><sphere/></geometry>"


def sdf(inside: str, version: str = "1.9") -> str:
    """Return the text of a world."""
    return f'<sdf version="{version}"><world name="w">{inside}</world></sdf>'


def model(inside: str, name: str = "m", attributes: str = "") -> str:
    """Return the text of a model."""
    return f'<model name="{name}" {attributes}>{inside}</model>'


def link(name: str, inside: str = "") -> str:
    """Return the text of a link."""
    return f'<link name="{name}">{inside}{MASS}</link>'


def start(world: World, name: str) -> np.ndarray:
    """Return the pose of a frame in the world at the start."""
    layout = lay_out(world)
    row, pose = list(layout.frames.names).index(name), poses.IDENTITY
    while row >= 0:
        pose, row = poses.compose(layout.poses[row], pose), layout.frames.parents[row]
    return pose


def shape_of(world: World, kind: str) -> np.ndarray:
    """Return the pose in the world of the one shape of a kind, which m/l has."""
    (pose,) = (shape.pose for shape in world.bodies[0].geometry if shape.only == kind)
    return poses.compose(start(world, "m/l"), pose)


def faults(text: str) -> str:
    """Return what is said of an invalid text."""
    with pytest.raises(WorldError) as raised:
        loads(text, ".sdf")
    return str(raised.value)


def write(folder: Path, files: dict[str, str]) -> Path:
    """Write files, and return the first."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder / next(iter(files))


CONFIG = '<model><sdf version="1.5">old.sdf</sdf><sdf version="1.9">model.sdf</sdf></model>'


class TestIncludes:
    def test_a_merged_model_keeps_its_own_frame(self, tmp_path: Path) -> None:
        arm = model(link("a", "<pose>1 0 0 0 0 0</pose>") + '<frame name="f" attached_to="__model__"/>', "arm")
        include = '<include merge="true"><uri>model://arm</uri><pose>0 0 2 0 0 1.5707963267948966</pose></include>'
        outer = model(link("base") + include + '<frame name="tip" attached_to="a"/>')
        path = write(
            tmp_path,
            {"w.sdf": sdf(outer), "arm/model.sdf": f'<sdf version="1.9">{arm}</sdf>', "arm/model.config": CONFIG},
        )
        world = load(path)
        np.testing.assert_allclose(start(world, "m/a")[:3], [0.0, 1.0, 2.0], atol=1e-12)
        np.testing.assert_allclose(start(world, "m/tip")[:3], [0.0, 1.0, 2.0], atol=1e-12)
        np.testing.assert_allclose(start(world, "m/f")[:3], [0.0, 0.0, 2.0], atol=1e-12)

    def test_a_placement_frame_is_where_the_include_puts_it(self, tmp_path: Path) -> None:
        box = model(link("l") + '<frame name="top"><pose>0 0 3 0 0 0</pose></frame>', "box")
        include = (
            "<include><uri>box/model.sdf</uri><name>b</name><pose>5 0 3 0 0 0</pose>"
            "<placement_frame>top</placement_frame></include>"
        )
        path = write(tmp_path, {"w.sdf": sdf(include), "box/model.sdf": f'<sdf version="1.9">{box}</sdf>'})
        np.testing.assert_allclose(start(load(path), "b/l")[:3], [5.0, 0.0, 0.0], atol=1e-12)

    def test_a_file_may_hold_nothing_but_an_include(self, tmp_path: Path) -> None:
        # As libsdformat 12 answers: of a pose, a name and a placement frame, the outermost holds.
        box = f"<pose>1 0 0 0 0 0.5</pose>{link('l', '<pose>0 0 1 0 0 0</pose>')}"
        box += '<frame name="top"><pose>0 0 2 0 0 0</pose></frame>'
        lifted = "<pose>0 3 0 0 0 0</pose><name>ring</name><placement_frame>top</placement_frame>"
        above = '<frame name="here"><pose>0 0 10 0 0 0</pose></frame>'
        turned = '<name>b</name><pose relative_to="here">9 9 9 1 0 0</pose><placement_frame>l</placement_frame>'
        at_here = '<name>c</name><pose relative_to="here">0 3 0 0 0 0</pose>'
        merged = model('<include merge="true"><uri>ring.sdf</uri></include>', "m")
        files = {
            "w.sdf": sdf(
                f"{above}<include><uri>outer.sdf</uri></include><include><uri>outer.sdf</uri>{turned}</include>"
                f"<include><uri>at_here.sdf</uri></include>{merged}"
            ),
            "outer.sdf": '<sdf version="1.9"><include><uri>ring.sdf</uri></include></sdf>',
            "ring.sdf": f'<sdf version="1.9"><include><uri>box.sdf</uri>{lifted}</include></sdf>',
            "at_here.sdf": f'<sdf version="1.9"><include><uri>box.sdf</uri>{at_here}</include></sdf>',
            "box.sdf": f'<sdf version="1.9">{model(box, "box")}</sdf>',
        }
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            world = load(write(tmp_path, files))
        for name, place in {
            "ring/l": [0.0, 3.0, -1.0],
            "b/l": [9.0, 9.0, 19.0],
            "b/top": [9.0, 9.0 - np.sin(1.0), 19.0 + np.cos(1.0)],
            "c/l": [0.0, 3.0, 11.0],
            "m/l": [0.0, 3.0, -1.0],
        }.items():
            np.testing.assert_allclose(start(world, name)[:3], place, atol=1e-12)

    def test_an_include_alone_that_leads_nowhere_is_told_in_its_file(self, tmp_path: Path) -> None:
        outer = '<sdf version="1.9"><include><uri>nothing.sdf</uri></include></sdf>'
        path = write(tmp_path, {"w.sdf": sdf("<include><uri>outer.sdf</uri></include>"), "outer.sdf": outer})
        with pytest.raises(WorldError, match=r"outer\.sdf:1:29: uri: no file 'nothing\.sdf'"):
            load(path)

    def test_a_folder_with_a_manifest_is_its_newest_model(self, tmp_path: Path) -> None:
        new, old = (f'<sdf version="1.9">{model(link(name))}</sdf>' for name in ("new", "old"))
        write(tmp_path, {"box/model.sdf": new, "box/old.sdf": old, "box/model.config": CONFIG})
        assert [body.name for body in load(tmp_path / "box").bodies] == ["m/new"]
        (tmp_path / "w.yaml").write_text("world: w\ninclude: [box]\n")
        assert [body.name for body in load(tmp_path / "w.yaml").bodies] == ["m/new"]

    def test_models_are_found_where_gazebo_looks(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        write(tmp_path, {"models/box/model.sdf": f'<sdf version="1.9">{model(link("l"), "box")}</sdf>'})
        path = write(tmp_path / "worlds", {"w.sdf": sdf("<include><uri>model://box</uri></include>")})
        with pytest.raises(WorldError, match=r"w.sdf:1:\d+: uri: no model 'box'"):
            load(path)
        monkeypatch.setenv("GZ_SIM_RESOURCE_PATH", str(tmp_path / "models"))
        assert [body.name for body in load(path).bodies] == ["box/l"]
        # Gazebo's tests have this, too: an address of a file that is none of the root.
        path = write(tmp_path / "worlds", {"f.sdf": sdf("<include><uri>file://box</uri></include>")})
        assert [body.name for body in load(path).bodies] == ["box/l"]

    def test_an_include_says_where_models_are(self, tmp_path: Path) -> None:
        write(tmp_path, {"parts/crate/model.sdf": f'<sdf version="1.9">{model(link("l"), "box")}</sdf>'})
        write(tmp_path, {"w.sdf": sdf("<include><uri>model://box</uri></include>")})
        path = write(tmp_path, {"w.yaml": "include: [{file: w.sdf, packages: {box: parts/crate}}]"})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert [body.name for body in load(path).bodies] == ["box/l"]
        write(tmp_path, {"w.yaml": "include: [{file: w.sdf, packages: {boxes: parts/crate}}]"})
        with pytest.raises(WorldError, match="no model 'box'; did you mean boxes\\?"):
            load(path)

    @pytest.mark.parametrize(
        ("world", "place"),
        [
            ("include: [w.sdf]", (47.0, 8.0, 400.0)),
            ("include: [{file: w.sdf, prefix: a}]", (47.0, 8.0, 400.0)),
            ("include: [{file: w.sdf, pose: {position: [0, 0, 1]}, prefix: a}]", None),
            ("include: [middle.yaml]", None),
            ("include: [w.sdf]\norigin: {latitude: 1, longitude: 2, altitude: 3}", (1.0, 2.0, 3.0)),
        ],
    )
    def test_an_included_world_says_where_on_earth_it_is(
        self, tmp_path: Path, world: str, place: tuple[float, ...] | None
    ) -> None:
        earth = "<latitude_deg>47</latitude_deg><longitude_deg>8</longitude_deg><elevation>400</elevation>"
        own = f"<spherical_coordinates>{earth}</spherical_coordinates>{model(link('l'))}"
        write(tmp_path, {"w.sdf": sdf(f"<gravity>0 0 -9.81</gravity>{own}"), "middle.yaml": "include: [w.sdf]"})
        path = write(tmp_path, {"w.yaml": world})
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            origin = load(path).origin
        assert (None if origin is None else (origin.latitude, origin.longitude, origin.altitude)) == place
        here = "none" if place is None else "another"
        unused = f"w.sdf:1:64: spherical_coordinates: is not used in an included file; {path} has {here}"
        assert [str(each.message).removeprefix(f"{tmp_path}/") for each in caught] == [unused] * (place != (47, 8, 400))

    def test_what_an_included_world_says_of_the_whole_is_told(self, tmp_path: Path) -> None:
        inside = (
            "<physics name='p' type='x'><max_step_size>0.005</max_step_size></physics>"
            "<wind><linear_velocity>1 0 0</linear_velocity></wind><scene><ambient>1 1 1</ambient></scene>"
            "<light name='sun' type='point'/>"
        )
        path = write(tmp_path, {"w.yaml": "include: [w.sdf]", "w.sdf": sdf(inside)})
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            load(path)
        said = [str(each.message).removeprefix(f"{tmp_path}/").partition(f"; {path} has ") for each in caught]
        told = {"gravity": "[0, 0, -9.81]", "wind": "none", "max_step_size": "0.01 s", "sky": "none", "sun": "none"}
        assert [(where.split(": ")[1], here) for where, _, here in said] == list(told.items())

    @pytest.mark.parametrize("end", ["", "/3", "/tip", "/3/files/meshes/swing.dae"])
    def test_nothing_is_fetched(self, end: str) -> None:
        address = f"https://fuel.gazebosim.org/1.0/OpenRobotics/models/Playground{end}"
        said = faults(sdf(f"<include><uri>{address}</uri></include>"))
        assert "'Playground' is on the network, which is not asked" in said
        assert len(said.splitlines()) == 1

    @pytest.mark.parametrize(
        "uri", ["../secret.sdf", "/etc/passwd", "file:///etc/passwd", "file://../secret.sdf", "model://../secret"]
    )
    def test_nothing_outside_of_the_folders_is_read(self, tmp_path: Path, uri: str) -> None:
        write(tmp_path, {"secret.sdf": f'<sdf version="1.9">{model(link("l"))}</sdf>'})
        path = write(tmp_path / "inner", {"w.sdf": sdf(f"<include><uri>{uri}</uri></include>")})
        with pytest.raises(WorldError, match=r"w\.sdf:1:\d+: uri: "):
            load(path)

    def test_a_file_that_includes_itself_is_refused(self, tmp_path: Path) -> None:
        inside = model("<include><uri>w.sdf</uri></include>")
        with pytest.raises(WorldError, match=r"includes itself: w\.sdf -> w\.sdf"):
            load(write(tmp_path, {"w.sdf": f'<sdf version="1.9">{inside}</sdf>'}))


class TestFormats:
    @pytest.mark.parametrize(
        ("version", "flag", "expected"),
        [
            # Before 1.5 axes are along the model's frame, from 1.5 to 1.6 if they say so, from 1.7 along the joint's.
            ("1.4", "", [1.0, 0.0, 0.0]),
            ("1.6", "", [0.0, 1.0, 0.0]),
            ("1.6", "<use_parent_model_frame>1</use_parent_model_frame>", [1.0, 0.0, 0.0]),
            ("1.7", "", [0.0, 1.0, 0.0]),
        ],
    )
    def test_axes_are_in_the_frame_of_the_format(self, version: str, flag: str, expected: list[float]) -> None:
        quarter = "<pose>0 0 0 0 0 1.5707963267948966</pose>"
        axis = f"<axis><xyz>1 0 0</xyz>{flag}</axis>"
        joint = f'<joint name="j" type="revolute"><parent>a</parent><child>b</child>{axis}</joint>'
        world = loads(sdf(model(link("a") + link("b", quarter) + joint), version), ".sdf")
        body = next(body for body in world.bodies if body.name == "m/b")
        turn = poses.compose(start(world, "m/b"), [*body.axes[0], 0.0, 0.0, 0.0, 1.0]) - start(world, "m/b")
        np.testing.assert_allclose(turn[:3], expected, atol=1e-12)

    def test_comments_may_have_two_dashes(self) -> None:
        assert loads(sdf(f"<!-- a -- b -->{model(link('l'))}"), ".sdf").bodies

    def test_a_declaration_may_be_late_or_lack_its_bracket(self) -> None:
        """As in gz-sim's test/worlds/reset_detachable_joint.sdf."""
        for begin in ('?xml version="1.0"?>\n', '\n <?xml version="1.0"?>\n', '<?xml version="1.0"?>\n'):
            assert loads(begin + sdf(model(link("l"))), ".sdf").bodies
        assert "<text>:3:1: " in faults('?xml version="1.0"?>\n\n<sfd/>')

    def test_texts_may_have_several_lines(self) -> None:
        world = loads(
            sdf(model(link("l"), attributes="").replace("<link", "<pose>1 2\n3\n0 0 0</pose><link", 1)), ".sdf"
        )
        np.testing.assert_allclose(start(world, "m/l")[:3], [1.0, 2.0, 3.0])

    def test_a_joint_may_have_the_name_of_a_link(self) -> None:
        joint = '<joint name="b" type="fixed"><parent>a</parent><child>b</child></joint>'
        with pytest.warns(match="'b' is also the name of a link; the joint is b_joint"):
            world = loads(sdf(model(link("a") + link("b") + joint)), ".sdf")
        assert "m/b_joint" in [frame.name for frame in world.frames]


class TestFaults:
    @pytest.mark.parametrize(
        ("inside", "said"),
        [
            (model(link("l", '<pose relative_to="k"/>')), "no frame 'k' in the model 'm'"),
            (model(link("l", "<pose>1 2 three 0 0 0</pose>")), "a number is needed, found 'three'"),
            (model(link("l", "<pose>1 2 3</pose>")), "6 numbers are needed, found 3"),
            (model(link("l", "<pose>0 1e300 0 0 0 0</pose>")), "the position [0.0, 1e+300, 0.0] is out of range"),
            (model(link("l") + link("l")), "the name 'l' is that of a link already"),
            (model('<frame name="f"><pose relative_to="f"/></frame>'), "the pose of 'f' depends on itself"),
            (model('<frame name="f" attached_to="g"/><frame name="g" attached_to="f"/>'), "'g' is attached to itself"),
            (model(link("l") + '<joint name="j" type="hinge"/>'), "no joint type 'hinge'"),
            (model(link("__l__")), "the name '__l__' is reserved"),
            (model("<static>maybe</static>"), "true or false is needed, found 'maybe'"),
            (model(f'<link name="l">{MASS.replace(">1</mass", ">-1</mass")}</link>'), "a mass above zero"),
        ],
    )
    def test_a_fault_is_told_with_its_place(self, inside: str, said: str) -> None:
        lines = faults(sdf(f"\n{inside}")).splitlines()
        assert any(line.startswith("<text>:2:") and said in line for line in lines), lines

    @pytest.mark.parametrize(("largest", "said"), [("1e200", ""), ("1.7e308", "an axis needs a direction")])
    def test_the_direction_of_an_axis_may_have_any_length(self, largest: str, said: str) -> None:
        axis = f"<axis><xyz>0 {largest} {largest}</xyz></axis>"
        joint = f'<joint name="j" type="revolute"><parent>a</parent><child>b</child>{axis}</joint>'
        plane = f"<visual name='v'><geometry><plane><normal>0 {largest} 1</normal></plane></geometry></visual>"
        text = sdf(model(link("a") + f'<link name="b">{MASS}{plane}</link>' + joint))
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            if said:
                assert said in faults(text)
            else:
                body = next(body for body in loads(text, ".sdf").bodies if body.name == "m/b")
                np.testing.assert_allclose(body.axes[0], [0.0, 0.5**0.5, 0.5**0.5], atol=1e-12)

    @pytest.mark.parametrize(
        "plugin",
        [
            "",
            '<plugin filename="gz-sim-track-controller-system" name="x"><link>l</link></plugin>',
            '<plugin filename="gz-sim-apply-link-wrench-system" name="x"><link_name>l</link_name></plugin>',
            '<joint name="j" type="revolute"><parent>k</parent><child>l</child><axis><xyz>0 0 1</xyz></axis></joint>'
            '<plugin filename="gz-sim-joint-controller-system" name="x"><joint_name>j</joint_name></plugin>',
        ],
    )
    @pytest.mark.parametrize("part", ["", "visual", "collision"])
    def test_what_refers_to_a_link_with_a_fault_adds_none(self, part: str, plugin: str) -> None:
        pose, imu = '<pose relative_to="g"/>', '<sensor name="s" type="imu"/>'
        fault, said, frame = pose, "link: no frame 'g' in the model 'm'", ""
        if part:
            fault, said = f'<{part} name="v">{pose}</{part}>', "frame: the pose of 'g' depends on itself"
            frame = '<frame name="g"><pose relative_to="g"/></frame>'
        lines = faults(sdf(model(link("l", f"\n{fault}{imu}") + link("k") + frame + plugin))).splitlines()
        assert [line.partition(" ")[2] for line in lines] == [said]

    @pytest.mark.parametrize(
        ("part", "at"),
        [
            # As in gz-sim's optical_tactile_sensor_plugin.sdf, which names the model that the sensor is in.
            ('<sensor name="s" type="imu">{}</sensor>', lambda world: start(world, "m/l/s")),
            (f'<collision name="c">{{}}{SPHERE}</collision>', lambda world: shape_of(world, "collision")),
            (f'<visual name="v">{{}}{SPHERE}</visual>', lambda world: shape_of(world, "visual")),
        ],
    )
    def test_a_part_of_a_link_in_a_frame_that_is_none_is_where_gazebo_has_it(
        self, part: str, at: Callable[[World], FloatArray]
    ) -> None:
        """libsdformat 12.3 loads such files without an error; gz-sim takes the pose as it is then, in the link."""
        said = r"1:\d+: pose: no frame 'm' in the model 'm'; the pose is in the link, as in Gazebo"
        inside = part.format('<pose relative_to="m">1 2 3 0 0 0</pose>')
        with pytest.warns(WorldWarning, match=said):
            world = loads(sdf(model(link("l", f"<pose>5 0 0 0 0 0</pose>{inside}"))), ".sdf")
        np.testing.assert_allclose(at(world)[:3], [6.0, 2.0, 3.0], atol=1e-12)

    @pytest.mark.parametrize(
        ("frame", "position"), [("m", [8.0, 2.0, 3.0]), ("f", [2.0, 3.0, 4.0]), ("world", [1.0, 2.0, 3.0])]
    )
    def test_lights_are_where_libsdformat_has_them(self, frame: str, position: list[float]) -> None:
        light = f'<light name="lamp" type="point"><pose relative_to="{frame}">1 2 3 0 0 0</pose></light>'
        frames = '<frame name="f"><pose>1 1 1 0 0 0</pose></frame>' + model(f"<pose>7 0 0 0 0 0</pose>{link('l')}")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            world = loads(sdf(light + frames), ".sdf")
        np.testing.assert_allclose(world.lights[0].position, position, atol=1e-12)

    def test_a_light_in_a_frame_that_is_none_is_where_gazebo_has_it(self) -> None:
        light = '<light name="lamp" type="point"><pose relative_to="f">1 2 3 0 0 0</pose></light>'
        with pytest.warns(WorldWarning, match=r"1:\d+: pose: no frame 'f' in the world; the pose is in the world"):
            world = loads(sdf(light + model(link("l"))), ".sdf")
        np.testing.assert_allclose(world.lights[0].position, [1.0, 2.0, 3.0], atol=1e-12)

    def test_a_heightmap_on_a_link_with_a_fault_is_refused(self) -> None:
        shape = '<collision name="c"><geometry><heightmap><uri>h.png</uri></heightmap></geometry></collision>'
        text = sdf(model(f'<static>1</static><link name="l"><pose relative_to="g"/>{shape}</link>'))
        assert "link: no frame 'g' in the model 'm'" in faults(text)

    def test_a_message_does_not_repeat_a_name_without_end(self) -> None:
        lines = faults(sdf(model(link("l" * 5000)))).splitlines()
        assert "has 5002 characters; allowed: up to 255" in "".join(lines)
        assert max(map(len, lines)) < 400

    def test_entities_are_refused(self) -> None:
        bomb = '<!DOCTYPE sdf [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><sdf version="1.9">&b;</sdf>'
        assert "document types and entities are not allowed" in faults(bomb)

    def test_frames_on_frames_on_frames_end(self) -> None:
        chain = "".join(f'<frame name="f{k}"><pose relative_to="f{k + 1}"/></frame>' for k in range(3000))
        assert "depend on each other too deeply" in faults(sdf(model(chain + '<frame name="f3000"/>')))


class TestNothingInSilence:
    def test_what_nobody_reads_is_told_once(self) -> None:
        text = sdf(model(link("a", "\n<colour>red</colour>") + link("b", "<colour>red</colour>")))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            loads(text, ".sdf")
        assert [str(each.message) for each in caught] == [
            "<text>:2:1: link.colour: has no effect here (1 more like it)"
        ]

    def test_a_model_that_is_included_twice_is_told_of_once(self, tmp_path: Path) -> None:
        twice = "".join(f"<include><uri>b.sdf</uri><name>b{k}</name></include>" for k in range(2))
        text = f'<sdf version="1.9">{model(link("l", "<colour>red</colour>"))}</sdf>'
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            load(write(tmp_path, {"w.sdf": sdf(twice), "b.sdf": text}))
        assert [str(each.message).rpartition("b.sdf:")[2] for each in caught] == [
            "1:52: link.colour: has no effect here"
        ]

    def test_an_audit_lists_what_each_element_does(self, tmp_path: Path) -> None:
        plugins = '<plugin name="gz::sim::systems::Physics" filename="x"/>\n<plugin name="a::Thing" filename="y"/>'
        friction = "<surface><friction><ode><mu>0.5</mu><slip1>0.4</slip1></ode></friction></surface>"
        collision = (
            f'<collision name="c">{friction}<geometry><sphere><radius>1</radius></sphere></geometry></collision>'
        )
        path = write(tmp_path, {"w.sdf": sdf(f"{plugins}\n{model(link('l', collision))}")})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = {(row.where.line, row.key): row.status for row in audit(path)}
        assert rows[1, "plugin gz::sim::systems::Physics"] == "no effect"
        assert rows[2, "plugin a::Thing"] == "no effect"
        assert rows[3, "ode.slip1"] == "used"
        assert rows[3, "sphere.radius"] == "used"

    def test_too_much_slip_is_said_at_its_line(self) -> None:
        ode = "\n<mu>0.5</mu><mu2>0.5</mu2><slip1>-1</slip1>\n<slip2>1e7</slip2><fdir1>1 0 0</fdir1>"
        surface = f"<surface><friction><ode>{ode}</ode></friction></surface>"
        shape = "<geometry><sphere><radius>1</radius></sphere></geometry>"
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            (force,) = loads(sdf(model(link("l", f'<collision name="c">{surface}{shape}</collision>'))), ".sdf").forces
        assert [str(each.message) for each in caught] == ["<text>:3:1: slip2: slip is at most 1e+06 here"]
        assert isinstance(force, DirectionalFriction)
        assert (force.along, force.across, force.slip_along, force.slip_across) == (0.5, 0.5, 0.0, 1e6)

    def test_a_flag_that_says_what_is_so_without_it_is_no_fault(self) -> None:
        def still(name: str, flag: str) -> str:
            inside = f"<static>1</static><self_collide>{flag}</self_collide>"
            return f'<model name="{name}">{inside}<link name="l"><enable_wind>{flag}</enable_wind></link></model>'

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            loads(sdf(f"\n{still('a', 'false')}\n{still('b', '1')} stray"), ".sdf")
        assert [str(each.message).partition(": ")[2] for each in caught] == [
            "model.self_collide: has no effect here",
            "link.enable_wind: has no effect here",
            "text of world: has no effect here",
        ]

    def test_the_command_lists_it(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path = write(tmp_path, {"w.sdf": sdf(f"\n{model(link('l', '<velocity_decay/>'))}")})
        assert main(["check", "--audit", str(path)]) == 0
        listed = capsys.readouterr().out
        assert "w.sdf:2:33: no effect: link.velocity_decay: settings of Gazebo's engines" in listed, listed
        assert main(["check", "--audit", "--json", str(path)]) == 0
        rows = json.loads(capsys.readouterr().out)[0]["audit"]
        assert {row["status"] for row in rows} == {"used", "no effect"}

    def test_an_audit_of_urdf_lists_what_has_no_effect(self, tmp_path: Path) -> None:
        path = write(tmp_path, {"r.urdf": '<robot name="r"><link name="l"/>\n<transmission name="t"/></robot>'})
        rows = {(row.where.line, row.key): row.status for row in audit(path)}
        assert rows == {(1, "robot.link"): "used", (2, "robot.transmission"): "no effect"}

    def test_an_audit_of_mjcf_lists_what_only_programs_see(self, tmp_path: Path) -> None:
        body = '<body name="b"><geom name="g" size="1"/>\n<camera name="c"/></body>'
        sensors = '<sensor>\n<framepos objtype="body" objname="b"/></sensor>\n<custom/>'
        text = f"<mujoco><worldbody>{body}</worldbody>\n{sensors}\n<statistic extent='1'/></mujoco>"
        rows = {(row.where.line, row.key): row.status for row in audit(write(tmp_path, {"r.xml": text}))}
        assert {key: status for key, status in rows.items() if status != "used"} == {
            (2, "camera"): "no effect",
            (3, "sensor"): "no effect",
            (5, "custom"): "no effect",
            (6, "mujoco.statistic"): "no effect",
        }
        assert rows[1, "body.geom"] == "used"
