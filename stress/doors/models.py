"""Worlds in XML: x_xy, MJCF, URDF and SDF."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random
from xml.etree import ElementTree

from sim_node.world.locate import PACKAGE, share, shipped_worlds
from stress.doors.worlds import SAMPLES, Folders, files_of
from stress.mutations import broken_bytes, broken_lines, broken_words
from stress.structures import broken_xml, elements

# Of a file in SDF_FILES_DIR.
MOST_BYTES = 30_000
_XML = (".xml", ".urdf", ".sdf")
_PUNCTUATION = (
    "<", ">", "/>", "</", "<!--", "-->", "<![CDATA[", "]]>", "<?", '"', "'", "=", "&", "&lt;", "&#0;", "&#x1F600;",
    '<!DOCTYPE a [<!ENTITY b "c">]>', "<!DOCTYPE a>", "&b;", 'xmlns="x"', "xmlns:a=", "a:", "../x.obj", "package://..",
)  # fmt: skip
# Elements and attributes beyond those of the samples.
_MJCF = (
    '<x><light/><camera name="c"/><joint type="hinge" stiffness="1" springref="2" frictionloss="1" group="9"/>'
    '<geom type="ellipsoid" size="1 2 3" density="1"/><geom type="sdf"/><geom type="hfield" hfield="h"/>'
    '<hfield name="h" nrow="3" ncol="3" size="1 1 1 1"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
    '<body mocap="true" gravcomp="1"/><tendon/><equality><weld body1="a" body2="b"/></equality><plugin plugin="x"/>'
    '<composite type="cable" count="9 1 1"/><flexcomp type="grid" count="3 3 3"/><attach model="m" body="b"/>'
    '<frame pos="0 0 1"/><default class="x"/><size memory="1G" njmax="9"/><muscle joint="hip"/><motor joint="hip"/>'
    '<general joint="hip" dyntype="integrator" gainprm="1"/><numeric name="n" size="99" data="1"/>'
    '<site rgba="1 1 1 1"/>'
    '<compiler eulerseq="zyx" coordinate="local" autolimits="false" inertiafromgeom="true"/>'
    '<option iterations="9"/></x>'
)
_URDF = (
    '<x><joint name="j" type="floating"/><joint name="j" type="planar"/><mimic joint="j" multiplier="2" offset="1"/>'
    '<mesh filename="part.obj" scale="1 1 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/>'
    '<origin rpy="1 2 3"/>'
    '<axis xyz="0 0 0"/><sphere radius="1"/><box size="1 1 1"/><dynamics damping="1" friction="1"/><mujoco/>'
    '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/><mass value="0"/><parent link="x"/><child link="x"/>'
    '<material name="m"/><transmission/><gazebo reference="x"/><safety_controller/></x>'
)
_SDF = (
    '<x><joint name="j" type="screw"/><joint name="j" type="ball"/><joint name="j" type="universal"/><axis2/><mimic/>'
    '<model name="m" placement_frame="f"/><frame name="f" attached_to="g"/><pose relative_to="f" degrees="1"/>'
    '<pose rotation_format="quat_xyzw"/><include merge="true"/><uri/><static/><self_collide/><gravity/><capsule/>'
    "<ellipsoid/><radii/><cone/><polyline/><point/><height/><mesh/><heightmap/><scale/><submesh/><transparency/>"
    '<actor name="a"/><script/><trajectory/><waypoint/><time/><restitution_coefficient/><collide_bitmask/>'
    '<sensor name="s" type="camera"/><sensor name="s" type="contact"/><sensor name="s" type="force_torque"/>'
    '<plugin name="gz::sim::systems::MulticopterMotorModel"/><jointName/><linkName/><motorConstant/><motorNumber/>'
    '<plugin name="gz::sim::systems::LiftDrag"/><link_name/><cp/><plugin name="gz::sim::systems::Buoyancy"/>'
    '<plugin name="gz::sim::systems::JointPositionController"/><joint_name/><screw_thread_pitch/></x>'
)
_X_XY = (
    '<x><body joint="free" name="b"/><body joint="frozen" name="c"/><body joint="spherical" name="d"/><cap/><defaults/>'
    '<geom type="box" dim="1 1 1" mass="1"/><geom type="sphere" dim="1" mass="1"/><geom type="xyz" dim="1"/></x>'
)


def _is_xml(path: Path) -> bool:
    try:
        return bool(elements(path.read_text(encoding="utf-8")))
    except ElementTree.ParseError:
        return False


class Xml(Folders):
    """An XML world; further: elements of its format."""

    further = "<x/>"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        texts = [data.decode() for name, data in self._files.items() if name.endswith(_XML)]
        self._pool = [each for text in (*texts, self.further) for each in elements(text)]
        names = {name for name, _ in self._pool} | {key for _, attributes in self._pool for key in attributes}
        self._words = (*sorted(names), *_PUNCTUATION)

    def broken(self, file: str, data: bytes, rng: Random) -> bytes:
        """As a tree, as words, as lines or as bytes."""
        text, what = data.decode(), rng.randrange(10)
        if what < 6 and file.endswith(_XML):
            return broken_xml(text, rng, self._pool)
        if what < 8:
            return broken_words(text, rng, self._words)
        return broken_lines(text, rng) if what == 8 else broken_bytes(data, rng, 8)


class XXy(Xml):
    """The format x_xy."""

    further = _X_XY

    def samples(self) -> dict[str, dict[str, bytes]]:
        """Those that are shipped."""
        found = {name: path for name, path in shipped_worlds().items() if path.suffix == ".xml"}
        return {name: {"w.xml": path.read_bytes()} for name, path in found.items()}


class Mjcf(Xml):
    """The format of MuJoCo."""

    further = _MJCF

    def samples(self) -> dict[str, dict[str, bytes]]:
        """A leg with parts, and the mesh that it has."""
        return {"mjcf": files_of(SAMPLES / "mjcf")}


class Urdf(Xml):
    """The format of ROS."""

    further = _URDF

    def samples(self) -> dict[str, dict[str, bytes]]:
        """The arm that is shipped."""
        folder = share(PACKAGE)
        assert folder is not None
        mesh = (SAMPLES / "mjcf" / "parts" / "part.obj").read_bytes()
        return {"arm": {"w.urdf": (folder / "config" / "models" / "arm.urdf").read_bytes(), "part.obj": mesh}}


class Sdf(Xml):
    """The format of Gazebo."""

    further = _SDF

    def samples(self) -> dict[str, dict[str, bytes]]:
        """A car, and a model that it includes; systems and sensors; the smaller files of the folder SDF_FILES_DIR."""
        found = {name: files_of(SAMPLES / name) for name in ("sdf", "sdf_systems")}
        folder = Path(os.environ.get("SDF_FILES_DIR", os.devnull))
        for path in sorted((*folder.rglob("*.sdf"), *folder.rglob("*.world"))):
            if path.stat().st_size < MOST_BYTES and _is_xml(path):
                found[str(path.relative_to(folder)).replace(os.sep, "_")] = {"w.sdf": path.read_bytes()}
        return found
