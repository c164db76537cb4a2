"""simulation_interfaces over the real rclpy: every service in good and bad ways, the action, many clients at once."""

from __future__ import annotations

import importlib
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("simulation_interfaces.srv", reason="needs its messages: sim_node build simulation_interfaces")

from forked_programs import program
from geometry_msgs.msg import PoseStamped, Vector3
from listening import Listener, listener
from processes import Program, sim_node
from rclpy.action import ActionClient
from rclpy.qos import DurabilityPolicy, QoSProfile
from simulation_interfaces.action import SimulateSteps
from simulation_interfaces.msg import (
    Bounds,
    EntityCategory,
    EntityFilters,
    Result,
    SimulationState,
    SimulatorFeatures,
    SpawnEntity,
    TagsFilter,
)
from simulation_interfaces.srv import ResetSimulation
from tf2_msgs.msg import TFMessage

from sim_node.ros.simulation_interfaces.services import SERVICES, name_of
from sim_node.ros.simulation_interfaces.serving import REGISTERING

pytestmark = pytest.mark.peers

assert REGISTERING  # the table is filled by these modules
OK, NOT_FOUND, FAILED = Result.RESULT_OK, Result.RESULT_NOT_FOUND, Result.RESULT_OPERATION_FAILED
UNSUPPORTED, INCORRECT_STATE = Result.RESULT_FEATURE_UNSUPPORTED, Result.RESULT_INCORRECT_STATE
BOX = "world: box\nbodies:\n  - {name: body, joint: free, geometry: [{box: [0.2, 0.2, 0.2], mass: 1}]}\n"
LATCHED = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
CALLS, THREADS = 10_000, 4


class Client:
    """Calls the services of a node by the names of their types."""

    def __init__(self, ears: Listener, node: str = "/simulation") -> None:
        self.ears, self.node = ears, node
        self._services = importlib.import_module("simulation_interfaces.srv")
        self._clients: dict[str, Any] = {}

    def __call__(self, type_name: str, **fields: Any) -> Any:
        kind = getattr(self._services, type_name)
        if type_name not in self._clients:  # kept: to be found by the node takes longer than a call
            client = self.ears.node.create_client(kind, f"{self.node}/{name_of(type_name)}")
            self.ears.spin_until(client.service_is_ready, what=type_name)
            self._clients[type_name] = client
        calls = [self._clients[type_name].call_async(kind.Request(**fields))]
        asked = time.monotonic()

        def replied() -> bool:
            # A server that has not found this client yet answers nobody: as in Listener.call.
            if time.monotonic() > asked + 20.0 * len(calls):
                calls.append(self._clients[type_name].call_async(kind.Request(**fields)))
            return any(call.done() for call in calls)

        self.ears.spin_until(replied, what=type_name)
        return next(call.result() for call in calls if call.done())

    def result(self, type_name: str, **fields: Any) -> int:
        return int(self(type_name, **fields).result.result)

    def entities(self) -> set[str]:
        return set(self("GetEntities").entities)

    def seen(self, entity: str) -> tuple[int, Any]:
        """The time of an entity's state, ns, and its height, m."""
        state = self("GetEntityState", entity=entity).state
        return state.header.stamp.sec * 10**9 + state.header.stamp.nanosec, state.pose.position.z


@pytest.fixture
def node(ros_domain: int) -> Iterator[Program]:
    with program(sim_node("run", "quadrotor")) as running:
        running.wait_for("stop         Ctrl-C")
        yield running


@pytest.fixture
def client(node: Program) -> Iterator[Client]:
    with listener() as ears:
        yield Client(ears)


def at(x: float, y: float, z: float, frame: str = "", w: float = 1.0) -> PoseStamped:
    pose = PoseStamped()
    pose.header.frame_id = frame
    # Messages take integers, and send them as other numbers.
    pose.pose.position.x, pose.pose.position.y, pose.pose.position.z = map(float, (x, y, z))
    pose.pose.orientation.w = float(w)
    return pose


def test_queries(client: Client) -> None:
    features = client("GetSimulatorFeatures").features
    wanted = {name for service in SERVICES.values() for name in service.features} | {"STEP_SIMULATION_ACTION"}
    assert set(features.features) == {getattr(SimulatorFeatures, name) for name in wanted}
    assert "mjcf" in features.spawn_formats
    assert client.entities() == {"ground", "drone"}
    filters = EntityFilters(filter="^dr", categories=[EntityCategory(category=EntityCategory.CATEGORY_ROBOT)])
    assert client("GetEntities", filters=filters).entities == ["drone"]
    assert client.result("GetEntities", filters=EntityFilters(filter="(")) == FAILED
    assert client.result("GetEntities", filters=EntityFilters(categories=[EntityCategory(category=3)])) == FAILED
    far = Bounds(type=Bounds.TYPE_SPHERE, points=[Vector3(x=900.0), Vector3(x=1.0)])
    assert client("GetEntities", filters=EntityFilters(bounds=far)).entities == ["ground"]
    assert client.result("GetEntities", filters=EntityFilters(bounds=Bounds(type=9))) == UNSUPPORTED
    tags = TagsFilter(tags=["multirotor"], filter_mode=TagsFilter.FILTER_MODE_ALL)
    states = client("GetEntitiesStates", filters=EntityFilters(tags=tags))
    assert states.entities == ["drone"]
    assert states.states[0].header.frame_id == "map"
    for asking in ("GetEntityState", "GetEntityInfo", "GetEntityBounds"):
        assert client.result(asking, entity="drone") == OK
        assert client.result(asking, entity="dron") == NOT_FOUND
    assert client("GetEntityInfo", entity="drone").info.category.category == EntityCategory.CATEGORY_ROBOT
    bounds = client("GetEntityBounds", entity="drone").bounds
    assert bounds.type == Bounds.TYPE_BOX
    assert bounds.points[0].z == pytest.approx(0.04)
    assert [pose.name for pose in client("GetNamedPoses").poses] == ["pad"]
    assert client.result("GetNamedPoseBounds", name="pad") == OK
    assert client.result("GetNamedPoseBounds", name="pda") == NOT_FOUND
    assert client("GetCurrentWorld").world.name == "quadrotor"
    assert "quadrotor" in {world.name for world in client("GetAvailableWorlds").worlds}
    assert client.result("GetAvailableWorlds", filter=TagsFilter(tags=["indoor"])) == UNSUPPORTED
    assert client.result("GetAvailableWorlds", additional_sources=["/etc"]) == FAILED
    assert client.result("GetAvailableWorlds", additional_sources=["/etc"], continue_on_error=True) == OK
    spawnables = client("GetSpawnables", sources=["/etc"])
    assert (spawnables.result.result, "/etc" in spawnables.result.error_message) == (OK, True)


def test_what_runs_stops_and_steps(client: Client) -> None:
    def set_state(state: int) -> int:
        return client.result("SetSimulationState", state=SimulationState(state=state))

    assert client("GetSimulationState").state.state == SimulationState.STATE_PLAYING
    assert client.result("StepSimulation") == FAILED
    assert set_state(SimulationState.STATE_PAUSED) == OK
    assert set_state(SimulationState.STATE_PAUSED) == 101
    before, _ = client.seen("drone")
    assert client.result("StepSimulation", steps=250) == OK
    after, _ = client.seen("drone")
    assert after - before == 10**9
    assert set_state(SimulationState.STATE_STOPPED) == OK
    assert client("GetSimulationState").state.state == SimulationState.STATE_STOPPED
    assert set_state(SimulationState.STATE_NO_WORLD) == 103

    # A box falls 4.9 m in a second.
    assert client.result("SpawnEntity", name="box1", resource_string=BOX, initial_pose=at(9, 9, 50)) == OK
    assert client.result("StepSimulation", steps=250) == OK
    assert client.seen("box1") == (10**9, pytest.approx(45.1, abs=0.05))
    assert client.result("ResetSimulation", scope=ResetSimulation.Request.SCOPE_TIME) == OK
    assert client.seen("box1") == (0, pytest.approx(45.1, abs=0.05))
    assert client.result("StepSimulation", steps=125) == OK
    assert client.result("ResetSimulation", scope=ResetSimulation.Request.SCOPE_STATE) == OK
    assert client.seen("box1") == (5 * 10**8, pytest.approx(50.0))
    assert client.result("ResetSimulation", scope=8) == UNSUPPORTED
    assert client.result("ResetSimulation") == OK
    assert client.entities() == {"ground", "drone"}

    action = ActionClient(client.ears.node, SimulateSteps, "/simulation/simulate_steps")
    client.ears.spin_until(action.server_is_ready)
    seen: list[tuple[int, int]] = []

    def simulate(steps: int, *, cancel: bool = False) -> tuple[int, int]:
        """The status of the goal and the result."""
        sent = action.send_goal_async(
            SimulateSteps.Goal(steps=steps),
            feedback_callback=lambda message: seen.append(
                (message.feedback.completed_steps, message.feedback.remaining_steps)
            ),
        )
        client.ears.spin_until(sent.done)
        handle = sent.result()
        if cancel:
            client.ears.spin_until(lambda: seen)
            assert client("GetSimulationState").state.state == SimulationState.STATE_PAUSED
            client.ears.spin_until(handle.cancel_goal_async().done)
        result = handle.get_result_async()
        client.ears.spin_until(result.done)
        return result.result().status, result.result().result.result.result

    assert simulate(20) == (4, OK)
    # Each step is reported, in order; the client drops what comes before it knows that its goal is accepted.
    assert seen == sorted(seen)
    assert set(seen) <= {(done, 20 - done) for done in range(1, 21)}
    seen.clear()
    assert simulate(10**9, cancel=True) == (5, FAILED)
    assert {done + left for done, left in seen} == {10**9}
    assert set_state(SimulationState.STATE_PLAYING) == OK
    assert simulate(1) == (6, FAILED)


def test_what_is_spawned_set_and_deleted(client: Client) -> None:
    spawned = client("SpawnEntity", name="box1", resource_string=BOX, initial_pose=at(0, 0, 2, "drone/base_link"))
    assert (spawned.result.result, spawned.entity_name) == (OK, "box1")
    codes = {
        101: {"name": "box1", "resource_string": BOX},
        102: {"name": "a b", "resource_string": BOX},
        103: {"name": "x", "resource_string": "<sdf version='1.9'/>"},
        104: {"name": "x"},
        105: {"name": "x", "resource_string": BOX, "entity_namespace": "a b"},
        106: {"name": "x", "resource_string": "world: ["},
        107: {"name": "x", "resource_string": "world: w\ninclude: [/etc/passwd]"},
        109: {"name": "x", "resource_string": BOX, "initial_pose": at(0, 0, 0, w=0.0)},
        NOT_FOUND: {"name": "x", "uri": "/etc/passwd"},
    }
    for code, fields in codes.items():
        assert client.result("SpawnEntity", **fields) == code
    renamed = client("SpawnEntity", name="box1", allow_renaming=True, resource_string=BOX, initial_pose=at(9, 9, 9))
    assert renamed.entity_name == "box1_1"
    requests = [SpawnEntity(name=name, initial_pose=at(5.0 * k, 9, 9)) for k, name in enumerate(("b", "b", "c"))]
    for request in requests:
        request.entity_resource.resource_string = BOX
    several = client("SpawnEntities", spawn_requests=requests)
    assert several.result.result == 150
    assert [each.result.result for each in several.results] == [OK, 101, OK]
    assert client.entities() == {"ground", "drone", "box1", "box1_1", "b", "c"}

    state = client("GetEntityState", entity="b").state
    state.pose.position.z, state.twist.linear.x = 50.0, 3.0
    assert client.result("SetEntityState", entity="b", state=state) == OK
    assert client("GetEntityState", entity="b").state.pose.position.z > 20.0
    assert client.result("SetEntityState", entity="nobody", state=state) == NOT_FOUND
    assert client.result("SetEntityState", entity="ground", state=state) == FAILED
    state.pose.orientation.w = 0.0
    assert client.result("SetEntityState", entity="b", state=state) == 101
    info = client("GetEntityInfo", entity="b").info
    info.tags = ["payload"]
    assert client.result("SetEntityInfo", entity="b", info=info) == OK
    assert client("GetEntities", filters=EntityFilters(tags=TagsFilter(tags=["payload"]))).entities == ["b"]
    assert client.result("SetEntityInfo", entity="nobody", info=info) == NOT_FOUND
    assert client.result("DeleteEntity", entity="b") == OK
    assert client.result("DeleteEntity", entity="b") == NOT_FOUND
    assert client.result("ResetSimulation", scope=4) == OK
    assert client.entities() == {"ground", "drone"}


def test_worlds_are_loaded_and_the_node_quits(client: Client, node: Program) -> None:
    assert client.result("LoadWorld") == 102
    assert client.result("LoadWorld", resource_string="world: [") == 103
    assert client.result("LoadWorld", uri="/etc/passwd") == NOT_FOUND
    loaded = client("LoadWorld", uri="package://sim_node/config/worlds/double_pendulum.yaml")
    assert (loaded.result.result, loaded.world.name) == (OK, "double_pendulum")
    assert client("GetSimulationState").state.state == SimulationState.STATE_STOPPED
    assert client.entities() == {"upper"}
    assert client.result("UnloadWorld") == OK
    assert client.result("UnloadWorld") == 101
    assert client.result("GetCurrentWorld") == 101
    assert client("GetSimulationState").state.state == SimulationState.STATE_NO_WORLD
    assert client.result("StepSimulation") == INCORRECT_STATE
    assert client.result("SetSimulationState", state=SimulationState(state=1)) == INCORRECT_STATE
    quitting = SimulationState(state=SimulationState.STATE_QUITTING)
    assert client.result("SetSimulationState", state=quitting) == OK
    assert node.wait() == 0


def test_many_clients_while_it_runs(client: Client, node: Program) -> None:
    """10,000 calls of all kinds by 4 threads: each gets its own answer, and time goes on."""

    def asking(ears: Listener, number: int) -> Callable[[int], None]:
        own = Client(ears)
        box = f"box{number}"

        def ask(turn: int) -> None:
            kind = turn % 8
            if kind == 0:
                assert own("GetEntityState", entity="drone").state.pose.position.z > 0.0
            elif kind == 1:
                assert {"ground", "drone"} <= own.entities()
            elif kind == 2:
                assert own.result("GetEntityInfo", entity=f"nobody{turn}") == NOT_FOUND
            elif kind == 3:
                assert own("GetSimulationState").state.state == SimulationState.STATE_PLAYING
            elif kind == 4:
                filters = EntityFilters(filter="^(drone|ground)$")
                assert len(own("GetEntitiesStates", filters=filters).states) == 2
            elif kind == 5:
                assert own.result("StepSimulation") == FAILED
            elif kind == 6 and turn % 400 == 6:
                pose = at(20.0 + 5.0 * number, 0.0, 20.0)
                assert own.result("SpawnEntity", name=box, resource_string=BOX, initial_pose=pose) == OK
            elif kind == 7 and turn % 400 == 207:
                assert own.result("DeleteEntity", entity=box) == OK
            else:
                assert own.result("GetEntityBounds", entity="drone") == OK

        return ask

    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            with listener(f"caller_{number}") as ears:
                ask = asking(ears, number)
                for turn in range(CALLS // THREADS):
                    ask(turn)
        except BaseException as failure:
            failures.append(failure)

    begun, _ = client.seen("drone")
    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]
    assert client.seen("drone")[0] > begun
    assert "Traceback" not in node.output


def test_the_prefix_of_the_services(ros_domain: int) -> None:
    command = sim_node("run", "orbit", "--ros-args", "-p", "simulation_interfaces:=/gzserver")
    with ExitStack() as stack:
        running = stack.enter_context(program(command))
        running.wait_for("stop         Ctrl-C")
        client = Client(stack.enter_context(listener()), "/gzserver")
        assert client.entities() == {"drone"}
        names = dict(client.ears.node.get_service_names_and_types())
        offered = {name for name in names if re.fullmatch(r"/gzserver/[a-z_]+", name)}
        assert offered == {f"/gzserver/{name_of(type_name)}" for type_name in SERVICES}


SDF = """<sdf version="1.9"><world name="w"><model name="box"><pose>0 0 5 0 0 0</pose>
<link name="l"><inertial><mass>1</mass>
</inertial><collision name="c"><geometry><sphere><radius>0.2</radius></sphere></geometry></collision></link>
<model name="inner"><link name="part"/></model><joint name="j" type="fixed"><parent>l</parent><child>inner::part</child>
</joint></model></world></sdf>"""


def test_models_and_worlds_of_sdf_are_spawned_and_loaded(ros_domain: int, tmp_path: Path) -> None:
    folder = tmp_path / "box"
    folder.mkdir()
    (folder / "model.config").write_text('<model><name>box</name><sdf version="1.9">model.sdf</sdf></model>')
    (folder / "model.sdf").write_text(SDF)
    with program(sim_node("run", "quadrotor", "--allow", tmp_path)) as running, listener() as ears:
        running.wait_for("stop         Ctrl-C")
        client = Client(ears)
        transforms = ears.subscribe(TFMessage, "/tf_static", LATCHED)
        sources = {"a": {"uri": str(folder)}, "b": {"uri": str(folder / "model.sdf")}, "c": {"resource_string": SDF}}
        for k, (name, source) in enumerate(sources.items()):
            assert client.result("SpawnEntity", name=name, initial_pose=at(10.0 * k, 5, 20), **source) == OK

        def nested() -> set[str]:
            found = {each.child_frame_id for _, message in transforms for each in message.transforms}
            return {f"{name}/box/inner/part" for name in sources} & found

        ears.spin_until(lambda: len(nested()) == len(sources), "the names of nested links")
        assert {"a", "b", "c"} < client.entities()
        assert client.result("LoadWorld", uri=str(folder / "model.sdf")) == OK
        assert client.entities() == {"box/l"}
        assert client.result("LoadWorld", uri=str(folder)) == OK
        assert client.result("LoadWorld", resource_string=SDF) == OK
        assert client.entities() == {"box/l"}
