"""The table of CONTRIBUTING.md is followed: for each row a package of one file and one entry point, and a use of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest
from forked import Forks

PAGE = Path(__file__).parents[2] / "CONTRIBUTING.md"


class Row(NamedTuple):
    adds: str
    folder: str
    has: str
    imports: str
    group: str


class Example(NamedTuple):
    """thing: the file that adds it. use: what only works with it."""

    thing: str
    use: str


def rows() -> list[Row]:
    text = PAGE.read_text(encoding="utf-8")
    table = text[text.index("| You add | in a new file of |") :].partition("\n\n")[0].splitlines()[2:]
    return [Row(*(cell.strip() for cell in line.strip("|").split("|"))) for line in table]


LOADED = """
import warnings
warnings.simplefilter("error")
from pathlib import Path
from sim_node.world import load
def world(text, name="w.yaml"):
    Path(name).write_text(text)
    return load(name)
"""
EXAMPLES = {
    "a kind of part of a world": Example(
        """
from sim_node.world.declared import declared, faults, given
from sim_node.world.part import Kind, part
from sim_node.world.problems import NOWHERE, Problem
from sim_node.world.quantities import Number
from sim_node.world.readers.yaml_section import listed
@declared
class Lamp:
    "A light bulb."
    watts: float = given(Number(0.0, 1e3), "Its power", "W")
    volts: float = given(Number(above=0.0, high=1e3), "Its voltage", "V", default=230.0)
@part("lamps", Lamp)
class Lamps(Kind[Lamp]):
    def problems(self, world):
        told = (fault for each in self.parts(world) for fault in faults(each))
        return [Problem(NOWHERE, f"lamps.{key}", message) for key, message in told]
listed("lamps", "Light bulbs.", Lamp)
""",
        """
import pytest
from sim_node.world import World, WorldError, lay_out
from sim_node.world.schema import world_schema
from sim_node.world.writers.yaml import to_yaml
read = world("lamps: [{watts: 40}, {watts: 60, volts: 12}]")
assert [(lamp.watts, lamp.volts) for lamp in read.lamps] == [(40.0, 230.0), (60.0, 12.0)]
assert World("w", lamps=read.lamps).lamps == read.lamps
assert "watts: 60.0, volts: 12.0" in to_yaml(read)
assert world_schema()["properties"]["lamps"]["items"]["properties"]["watts"]["maximum"] == 1e3
assert read.with_values({"lamps[1].volts": 24.0}).lamps[1].volts == 24.0
with pytest.raises(WorldError, match=r"1:9: lamps.0.: watts is missing"):
    world("lamps: [{volts: 12}]")
with pytest.raises(WorldError, match=r"1:17: lamps.0..watts: 2000 is out of range; allowed: 0 to 1000"):
    world("lamps: [{watts: 2000}]")
with pytest.raises(WorldError, match=r"lamps.watts: 2000 is out of range; allowed: 0 to 1000 W"):
    lay_out(World("w", lamps=[type(read.lamps[0])(2000.0)]))
""",
    ),
    "a top-level key of world files": Example(
        """
import numpy as np
from sim_node.world import StaticFrame
from sim_node.world.readers.yaml_section import section
@section("landmarks")
def read(value, context):
    for each in value.items():
        context.add(StaticFrame(each.text(), "map", np.array([0.0, 0, 0, 0, 0, 0, 1])))
""",
        'assert [frame.name for frame in world("landmarks: [a, b]").frames] == ["a", "b"]',
    ),
    "a file format for worlds": Example(
        """
from sim_node.formats import reader
from sim_node.world import World
@reader(".empty")
def read(path, shown, roots, report, including=()):
    return World(path.stem)
""",
        'assert world("", "hall.empty").name == "hall"',
    ),
    "a format for worlds in XML": Example(
        """
from sim_node.world import World
from sim_node.formats import xml_reader
@xml_reader("hall")
def read(file):
    return World(file.path.stem)
""",
        'assert world("<hall/>", "big.xml").name == "big"',
    ),
    "a sensor": Example(
        """
from dataclasses import dataclass
from sim_node.simulation.sensors import Message, SensorType, channels, parameter, sensor
@sensor("depth_gauge")
@dataclass(frozen=True)
class DepthGauge(SensorType):
    rate: float = parameter(10.0, "Hz", "measurements per second", above=0.0)
    latency: float = parameter(0.0, "s", "time from measurement to publication", low=0.0)
    channels = ("height",)
    def quantities(self):
        return ()
    def messages(self, frame, fixed_frame):
        return (Message("height", "std_msgs/msg/Float64", {"data": channels(0)}),)
    @classmethod
    def measure(cls, sensors, context):
        return lambda state: state.pose[:, 2:3].copy()
""",
        """
from sim_node.simulation import Simulation
sensors = "sensors: [{name: a, type: depth_gauge, pose: {position: [0, 0, 7]}, parent: map}]"
simulation = Simulation(world(sensors))
assert simulation.snapshot().measurements["a"].values.tolist() == [[7.0]]
""",
    ),
    "something that moves frames": Example(
        """
from dataclasses import dataclass
import numpy as np
from sim_node.simulation.columns import Column
from sim_node.simulation.physics import engine
from sim_node.world.part import FrameEntry, Kind, part
from sim_node.world.problems import NO_PLACE
@dataclass(frozen=True)
class Cabin:
    name: str
    mobility: str = "dynamic"
    def start(self): return np.array([0.0, 0, 0, 0, 0, 0, 1])
@part("cabins", Cabin)
class Cabins(Kind[Cabin]):
    def entries(self, world):
        for cabin in self.parts(world):
            yield FrameEntry(cabin.name, world.fixed_frame, cabin, NO_PLACE, NO_PLACE, cabin)
@engine("lift")
def open_lift(world, layout, columns):
    cabins = layout.of(Cabin)
    return Lift([cabin.name for _, cabin in cabins], columns) if cabins else None
class Lift:
    def __init__(self, names, columns):
        self.rows = columns.claim("pose", names)
        self.steps = columns.add(Column("lift/steps", ("lift",), dtype=np.int64, meaning="steps since the start"))
    def reset(self, seed): self.steps[0] = 0
    def step(self, steps): self.steps[0] += steps
    def write(self, poses, ahead_ns): poses[self.rows, 2] = self.steps[0]
""",
        """
import thing
from sim_node.simulation import Simulation
from sim_node.world import World
simulation = Simulation(World("shaft", cabins=(thing.Cabin("cabin"),)))
simulation.step(3)
assert simulation.snapshot().poses[simulation.frames.index("cabin"), 2] == 3.0
""",
    ),
    "something that pushes bodies": Example(
        """
from dataclasses import dataclass
from sim_node.simulation.physics import Force, force, force_element, forces_of
@dataclass(frozen=True, slots=True, eq=False)
class Kick(Force):
    def data(self): return {"type": "kick", "body": self.body}
@force("kick")
def read(entry, context):
    body = entry.table(("type", "body"), required=("body",)).get("body")
    context.add(Kick(body.text(), place=body.place))
@force_element("kick")
def open_kicks(world, layout, compiled, data, wind, columns):
    return Kicks(forces_of(world, Kick), compiled, data) if forces_of(world, Kick) else None
class Kicks:
    def __init__(self, kicks, compiled, data):
        self.data, self.bodies = data, [compiled.model.body(kick.body).id for kick in kicks]
    def reset(self, seed): ...
    def act(self): self.data.xfrc_applied[self.bodies, 0] += 1.0
""",
        """
from sim_node.simulation import Simulation
text = "physics: {gravity: [0, 0, 0]}\\nbodies: [{name: a, joint: free, geometry: [{sphere: 1, mass: 2}]}]\\n"
simulation = Simulation(world(text + "forces: [{type: kick, body: a}]"))
simulation.run(2.0)
# a = F / m, x = a t^2 / 2
assert abs(simulation.snapshot().poses[simulation.frames.index("a"), 0] - 1.0) < 0.02
""",
    ),
    "a kind of wheeled base": Example(
        """
from dataclasses import dataclass
import numpy as np
from sim_node.world.base_types import BaseType, LinearKinematics, base, dimension
@base("unicycle")
@dataclass(frozen=True)
class Unicycle(BaseType):
    wheel_radius: float = dimension("radius of the wheel")
    driven = ("wheel", "turntable")
    @classmethod
    def kinematics(cls, bases):
        rates = [[[1.0 / each.wheel_radius, 0.0, 0.0], [0.0, 0.0, 1.0]] for each in bases]
        return LinearKinematics(np.array(rates), sideways=False)
""",
        """
from sim_node.simulation import Simulation
text = "bodies: [{name: r, joint: free, geometry: [{sphere: 0.1, mass: 1}]}]\\n"
text += "bases: [{name: uni, body: r, type: unicycle, wheel_radius: 0.1, drive: kinematic}]"
simulation = Simulation(world(text))
simulation.vehicles["uni"].cmd_vel(0.5, 9.0, timeout=0)
simulation.run(2.0)
assert abs(simulation.vehicles["uni"].odometry - [1.0, 0.0, 0.0]).max() < 1e-9
""",
    ),
    "a joint type": Example(
        """
from sim_node.world import JointType, register_joint_types, slide
register_joint_types(JointType("rail", (slide((1, 0, 0)),)))
""",
        """
from sim_node.simulation import Simulation
text = "bodies: [{name: a, joint: {type: rail, qd: 0.5}, geometry: [{sphere: 1, mass: 2}]}]"
simulation = Simulation(world(text))
simulation.run(2.0)
assert abs(simulation.snapshot().poses[simulation.frames.index("a"), 0] - 1.0) < 1e-9
""",
    ),
    "a mate type": Example(
        """
from sim_node.world.mate_types import MateType, register
register(MateType("weld", (), "frozen"))
""",
        """
from sim_node.world import lay_out
from sim_node.assembly import assemble
text = '''
systems:
  - name: s
    bodies: [{name: b, geometry: [{sphere: 1}], connectors: {end: {position: [0, 0, -2]}}}]
    connectors: {here: {position: [0, 0, 5]}}
    mates: [{name: m, weld: [b/end, here]}]
'''
layout = lay_out(assemble(world(text)))
assert dict(zip(layout.frames.names, layout.poses[:, 2]))["s/b"] == 7.0
""",
    ),
    "a loop closure, which holds a loop of mates": Example(
        """
from sim_node.simulation.physics.loop_closures import loop_closure
from sim_node.world.joints import Z, slide
from sim_node.world.mate_types import MateType, register
register(MateType("rope", (slide(Z),), "slide", ("length",)))
HELD = []
@loop_closure("rope")
def hold(spec, held, bodies, ends):
    HELD.append(held.name)
""",
        """
import numpy as np
from sim_node.simulation import Simulation
from sim_node.world import World
from sim_node.world.loops import LoopClosure
read = world("bodies: [{name: a, joint: free, geometry: [{sphere: 1, mass: 1}]}, "
             "{name: b, joint: free, geometry: [{sphere: 1, mass: 1}]}]")
ends = np.tile([0.0, 0, 0, 0, 0, 0, 1], (2, 1))
Simulation(World("w", bodies=read.bodies, loop_closures=(LoopClosure("l", "rope", ("a", "b"), ends),)))
import thing
assert thing.HELD == ["l"]
""",
    ),
    "an autopilot that flies vehicles": Example(
        """
from sim_node.autopilots.lockstep.ardupilot import ArduPilot
from sim_node.autopilots.lockstep.autopilot import autopilot
from sim_node.world.vehicles import AUTOPILOT_TYPES, AutopilotType
AUTOPILOT_TYPES.add("still")(AutopilotType((), 8))
@autopilot("still")
class Still(ArduPilot):
    def open(self): print("opened")
    def send(self, sample): ...
    def receive(self): return None
    def close(self): ...
""",
        """
from sim_node.autopilots.vehicle_co_simulator import attach_autopilots
from sim_node.simulation import Simulation
from sim_node.world.locate import shipped_worlds
text = shipped_worlds()["ardupilot"].read_text()
simulation = Simulation(world(text.replace("type: ardupilot", "type: still")))
[peer] = attach_autopilots(simulation)
simulation.run(0.1)
simulation.close()
""",
    ),
    "a MAVLink message to read": Example(
        """
from sim_node.mavlink.contents import CENTI, Quantity
from sim_node.mavlink.topics import topic
from sim_node.mavlink.translation.rows import translates
from sim_node.mavlink.translation.rows import Row, table
AIR = topic("hygrometer/temperature", "sensor_msgs/Temperature", "base_link", measured=True)
table(
    Row("HYGROMETER_SENSOR", AIR, Quantity("temperature", unit=CENTI)),
)
SHAKEN = topic("shaken", "std_msgs/Float64")
@translates("VIBRATION")
def vibration(fields, vehicle):
    vehicle.pack(SHAKEN, vehicle.stamp_of(fields), (fields.vibration_x,))
""",
        """
from pymavlink.dialects.v20 import ardupilotmega as mavlink
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import Temperature
from std_msgs.msg import Float64
from sim_node.mavlink.parser import Parser
from sim_node.mavlink.telemetry import Telemetry
from sim_node.mavlink.topics import FrameNames
from sim_node.mavlink.translation import TRANSLATIONS
said = {}
vehicle = Telemetry(1, FrameNames(), lambda topic, data: said.update({topic.name: data}))
damp = mavlink.MAVLink_hygrometer_sensor_message(0, -525, 0)
shaking = mavlink.MAVLink_vibration_message(0, 1.5, 0, 0, 0, 0, 0)
for sent in damp, shaking:
    [message] = Parser(datagrams=True).feed(sent.pack(mavlink.MAVLink(None, 1, 1)))
    TRANSLATIONS[message.name](message.fields, vehicle)
assert said.keys() == {"shaken", "hygrometer/temperature"}
assert deserialize_message(said["shaken"], Float64).data == 1.5
air = deserialize_message(said["hygrometer/temperature"], Temperature)
assert (air.temperature, air.header.frame_id) == (-5.25, "base_link")
""",
    ),
    "a message, a command or a mission item of the built-in autopilot": Example(
        """
from sim_node.autopilots.builtin.commands import command
from sim_node.autopilots.builtin.ground_messages import ground_message
from sim_node.autopilots.builtin.mission import item
from sim_node.autopilots.builtin.streams import message
@message("PING", 2.0)
def ping(flight): return {"seq": 7}
@ground_message("DEBUG")
def note(autopilot, received): print("noted")
@command(31000)
def whistle(autopilot, order): print("whistles")
@item(31001)
def wave(entry, flight): return None
""",
        """
from sim_node.autopilots.builtin.commands import COMMANDS
from sim_node.autopilots.builtin.ground_messages import GROUND_MESSAGES
from sim_node.autopilots.builtin.mission import ITEMS
from sim_node.autopilots.builtin.streams import MESSAGES, Streams
assert MESSAGES["PING"].rate == 2.0 and MESSAGES["PING"].make(None) == {"seq": 7}
assert GROUND_MESSAGES["DEBUG"].__name__ == "note" and GROUND_MESSAGES["PING"].__name__ == "ping"
assert COMMANDS[31000].__name__ == "whistle" and ITEMS[31001](None, None) is None
""",
    ),
    "a kind of link": Example(
        """
from sim_node.mavlink.links.endpoint import endpoint
@endpoint("nobody")
class Nobody:
    datagrams, connecting = True, False
    def __init__(self, url, rest): self.url = url
    def open(self): ...
    def finish(self): ...
    def close(self): ...
    def fileno(self): return -1
    def read(self): return []
    def write(self, data, to): ...
""",
        "from sim_node.mavlink.links import endpoint_of\nassert endpoint_of('nobody:there').url == 'nobody:there'",
    ),
    "a storage of bags": Example(
        """
from sim_node.recording.mcap_bag import McapBag
from sim_node.recording import storage
@storage("mine", ".mine")
def open_mine(path, max_bytes):
    return McapBag(path)
""",
        """
from sim_node.cli.main import main
from sim_node.recording.opening import open_bag
words = ["run", "orbit", "--no-ros", "--duration", "0.2", "--speed", "max", "--record", "bag"]
assert main(words) == 0
Path("bag/bag_0.mcap").rename("a.mine")
with open_bag("a.mine") as bag:
    assert "/tf" in {topic.name for topic in bag.topics}
""",
    ),
    "a format of pictures": Example(
        """
from sim_node.viewing.pictures import picture
@picture(".ppm")
def write_ppm(pixels, path):
    height, width, _ = pixels.shape
    path.write_bytes(b"P6 %d %d 255 " % (width, height) + pixels.tobytes())
""",
        """
import numpy as np
from PIL import Image
from sim_node.viewing.pictures import write_picture
write_picture(np.full((2, 3, 3), 9, np.uint8), Path("a.ppm"))
assert Image.open("a.ppm").getpixel((2, 1)) == (9, 9, 9)
""",
    ),
    "a format of films": Example(
        """
from sim_node.viewing.pictures import film
@film(".count")
def write_count(pictures, count, fps, path):
    path.write_text(str(sum(1 for _ in pictures)))
""",
        """
import numpy as np
from fractions import Fraction
from sim_node.viewing.pictures import FILMS
FILMS[".count"]([np.zeros((2, 2, 3), np.uint8)] * 3, 3, Fraction(5), Path("a.count"))
assert Path("a.count").read_text() == "3"
""",
    ),
    "how messages look in the viewer, from a bag or from the graph": Example(
        """
import numpy as np
from sim_node.viewing.messages.drawing import Drawing, TextLabel
from sim_node.viewing.messages.readers import reader, stateless
@reader("sensor_msgs/msg/FluidPressure")
def pressure(scope):
    return lambda message: Drawing("map", (TextLabel("map", np.zeros(3), f"{message.fluid_pressure:.0f} Pa"),))
""",
        """
from types import SimpleNamespace
from sim_node.viewing.messages.readers import READERS, ReaderContext
read = READERS["sensor_msgs/msg/FluidPressure"].open(ReaderContext("/pressure"))
assert read(SimpleNamespace(fluid_pressure=101325.0)).items[0].text == "101325 Pa"
""",
    ),
    "how measurements of a sensor look in the viewer, during a run": Example(
        """
import numpy as np
from sim_node.viewing.browser.sensor_views import VIEWS, SensorView
from sim_node.viewing.messages.drawing import Lines
@VIEWS.add("sensor_msgs/msg/MagneticField")
def needle(frame, fields):
    return SensorView(lambda field: (Lines(frame, np.array([[[0.0, 0, 0], field]]), np.zeros((1, 2, 3), np.uint8)),))
""",
        """
from sim_node.simulation import Simulation
from sim_node.viewing.browser.sensor_topic_views import topic_views_of
text = "origin: {latitude: 47, longitude: 8, altitude: 0}\\n"
simulation = Simulation(world(text + "sensors: [{name: a, type: magnetometer, parent: map}]"))
shown = topic_views_of(simulation.world, simulation.frames)["a"]
assert shown.type == "sensor_msgs/msg/MagneticField"
from sim_node.viewing.browser.sensor_views import VIEWS
[needle] = VIEWS[shown.type](shown.frame, shown.fields).items(simulation.snapshot().measurements["a"].values[0])
assert (needle.frame, needle.ends.shape) == ("a", (1, 2, 3))
""",
    ),
    "what a type of sensor sees, as lines": Example(
        """
import numpy as np
from sim_node.viewing.sensor_marks import outline
@outline("imu")
def axis(imu): return np.array([[0.0, 0, 0], [0, 0, 3]])
""",
        """
from sim_node.viewing.markers import markers_of
from sim_node.world import lay_out
marked = world("sensors: [{name: a, type: imu, parent: map}]")
[line] = [each for each in markers_of(marked, lay_out(marked).frames) if len(each.points)]
assert line.points[1, 2] == 3.0
""",
    ),
    "markers of a world": Example(
        """
from sim_node.viewing.markers import marker_group
from sim_node.messages.marker_messages import FrameMarker, MarkerType
@marker_group("flags")
def flags(world, frames):
    return [FrameMarker(world.fixed_frame, "flags", MarkerType.CUBE)]
""",
        """
from sim_node.viewing.markers import markers_of
from sim_node.viewing.rviz import rviz_config
from sim_node.world import lay_out
marked = world("frames: [{name: a}]")
assert [each.group for each in markers_of(marked, lay_out(marked).frames)] == ["flags"]
assert "flags: true" in rviz_config(marked)
""",
    ),
    "how rviz shows a topic": Example(
        """
from sim_node.viewing.rviz_displays import DISPLAYS
DISPLAYS.add("sensor_msgs/msg/Imu")(("rviz_imu_plugin/Imu", {"Enable acceleration": True}))
""",
        """
from sim_node.viewing.rviz import rviz_config
text = rviz_config(world("sensors: [{name: a, type: imu, parent: map}]"))
assert "Class: rviz_imu_plugin/Imu" in text and "Enable acceleration: true" in text
""",
    ),
    "a signal of formulas in tests": Example(
        """
from sim_node.extensions.scenario import SignalReading, signal_kind
@signal_kind("half_height(FRAME)", "half of its height in its parent", "m")
def half_height(run, names, zones):
    row = run.frames.index(names[0])
    return SignalReading((("pose", (row,)),), lambda poses: 0.5 * poses[:, 0, 2])
""",
        """
from sim_node import Simulation
from sim_node.extensions.scenario import SignalCondition
simulation = Simulation(world("frames: [{name: a, pose: {position: [0, 0, 3]}}]"))
assert SignalCondition(simulation, "half_height(a) >= 1.5 m").evaluate()
assert not SignalCondition(simulation, "half_height(a) > 150 cm").evaluate()
""",
    ),
    "a measure of sweeps": Example(
        """
from sim_node.extensions.sweep import Measure, measure
@measure("steps")
def steps(name, inside):
    return Measure(name, lambda run: {name: run.simulation.steps})
""",
        """
from sim_node.extensions.sweep.worker import Runner
from sim_node.extensions.sweep.study import Study, prepare
prepared = prepare(Study(world("time: {step: 0.01}"), 0.5, runs=1, measures=("steps()",)))
assert [outcome.measures for outcome in Runner(prepared.job).run(prepared.cases)] == [{"steps()": 50}]
""",
    ),
    "where the cases of a sweep run": Example(
        """
from sim_node.extensions.sweep import sweep_engine
from sim_node.extensions.sweep.engine import Finished
from sim_node.extensions.sweep.worker import Runner
class Here:
    workers = 1
    def __init__(self, job):
        self.runner, self.waiting = Runner(job), []
    def submit(self, cases):
        self.waiting.append(cases)
    def wait(self, seconds):
        waiting, self.waiting = self.waiting, []
        return [Finished(cases, list(self.runner.run(cases))) for cases in waiting]
    def close(self): ...
@sweep_engine("here")
def open_here(job, workers, options):
    return Here(job)
""",
        """
from sim_node.extensions import sweep
rows = sweep.run(world("time: {step: 0.01}"), duration=0.1, runs=3, measures=["divergence()"], engine="here")
assert rows["status"].to_list() == ["ok"] * 3
""",
    ),
    "a subcommand": Example(
        """
from sim_node.cli import command
@command("thing")
def run(arguments):
    \"\"\"Say a number.\"\"\"
    print(42)
    return 0
""",
        "from sim_node.cli.main import main\nassert main(['thing']) == 0",
    ),
    "a request to a run": Example(
        """
from sim_node.session.requests import RequestContext
from sim_node.simulation.requests import request
@request("shove")
def shove(context: RequestContext, /, name: str, *, up: float = 1.0) -> str:
    \"\"\"Push a body that floats free.

    Args:
        context: The run.
        name: The body.
        up: Velocity that it gets, m/s.
    \"\"\"
    context.entities.set_state(name, "", None, [0.0, 0.0, up, 0.0, 0.0, 0.0])
    return f"shoved {name}"
""",
        """
import argparse
import inspect
from sim_node.cli.commands import COMMANDS
from sim_node.cli.requests import given
from sim_node.session import Session
from sim_node.simulation.requests import REQUESTS
from sim_node.extensions.assistants import TOOLS
assert "shove" in COMMANDS.words()
command, parser = COMMANDS.find("shove"), argparse.ArgumentParser()
command.add_arguments(parser)
assert command.summary == "Push a body that floats free."
values = given(REQUESTS["shove"], parser.parse_args(["ball", "--up", "2.5"]))
assert values == {"name": "ball", "up": 2.5}
tool = TOOLS["shove"]
assert tool.changes and inspect.getdoc(tool.run) == "Push a body that floats free."
assert [*inspect.signature(tool.run).parameters] == ["name", "up", "node"]
assert tool.run.__annotations__["up"].__metadata__ == ("velocity that it gets, m/s",)
text = "bodies: [{name: ball, joint: free, geometry: [{sphere: 0.1, mass: 1}]}]"
with Session(world(text), paused=True) as session:
    assert session.requests.ask("shove", **values) == "shoved ball"
    assert session.simulation.bodies["ball"].twist.tolist() == [0.0, 0.0, 2.5, 0.0, 0.0, 0.0]
""",
    ),
    "sinks, topics and files of runs, or what ends one": Example(
        """
from sim_node.messages.encoding import encode
from sim_node.messages.topic import Qos, Topic
from sim_node.session.run_parts import RUN_PARTS, OwnedTopic, RunPart
from sim_node.world.problems import NO_PLACE
TOPIC = Topic("moment", "std_msgs/msg/Float64", Qos(depth=10))
class Clock:
    def __init__(self, outlet):
        self.send = outlet.advertise(TOPIC)
    def open(self, world, frames):
        pass
    def write(self, snapshot):
        self.send(snapshot.time_ns, encode("std_msgs/msg/Float64", {"data": snapshot.time_ns * 1e-9}))
    def close(self):
        pass
class Moments(RunPart):
    noun = "moments"
    def sinks(self, target):
        return [Clock(target.outlet)]
    def topics(self, world, prefix=""):
        return [OwnedTopic(TOPIC, "the clock", NO_PLACE)]
RUN_PARTS.add("moments")(Moments())
""",
        """
from sim_node import open_bag
from sim_node.session import Session
from sim_node.session.graph_names import graph_names
of = world("frames: []\\ntime: {step: 0.1}")
with Session(of, record="bag", publish_rate=10.0, real_time_factor=0.0) as session:
    session.run(0.3)
with open_bag("bag") as bag:
    assert abs(bag.columns("/moment")["data"] - [0.0, 0.1, 0.2, 0.3]).max() < 1e-12
assert "/moment" in [each.name for each in graph_names(of)]
""",
    ),
    "options of `sim_node run` that say what to run": Example(
        """
from sim_node.cli.run import RUN_SOURCES, RunSource
from sim_node.world import World
def add_arguments(parser):
    parser.add_argument("--empty", metavar="NAME", help="an empty world")
def empty(arguments, find):
    return World(arguments.empty)
RUN_SOURCES.add("empty worlds")(RunSource("empty", add_arguments, empty))
""",
        """
from sim_node.cli.main import main
words = ["run", "--empty", "hall", "--no-ros", "--duration", "0.1", "--speed", "max", "--record", "bag"]
assert main(words) == 0
assert "hall" in Path("bag/metadata.yaml").read_text()
""",
    ),
    "a tool for AI assistants": Example(
        """
from typing import Annotated
from sim_node.extensions.assistants import ToolCall, tool
@tool("double")
def double(call: ToolCall, *, number: Annotated[float, "to double"]) -> dict[str, float]:
    \"\"\"Double a number.\"\"\"
    return {"doubled": 2.0 * number}
""",
        """
from sim_node.extensions.assistants import TOOLS
assert TOOLS["double"].run(None, number=21.0) == {"doubled": 42.0}
assert TOOLS.plugin_of("double").package == "thing"
""",
    ),
}


def example_of(row: Row) -> Example | None:
    return next(
        (each for adds, each in EXAMPLES.items() if re.fullmatch(rf"{re.escape(adds)}([:,] .*)?", row.adds)), None
    )


def test_each_row_has_an_example_and_each_example_a_row() -> None:
    assert [row.adds for row in rows() if example_of(row) is None] == []
    assert len(rows()) == len(EXAMPLES)


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.adds[:40])
def test_a_row_is_followed(row: Row, forked: Forks, tmp_path: Path) -> None:
    example = example_of(row)
    assert example is not None
    root = PAGE.parent
    assert (root / row.folder.strip("`")).is_dir()
    info = tmp_path / "thing-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{row.group.strip('`')}]\nthing = thing\n")
    (tmp_path / "thing.py").write_text(example.thing)
    imported = f"from {row.imports.strip('`')}"
    assert imported in example.thing
    for named in re.findall(r"`@?([\w.]+)\(", row.has):
        assert named in example.thing, f"{named} of the row is not in the example"
    code, errors = forked.python(tmp_path, LOADED + example.use, site=tmp_path)
    assert code == 0, errors
