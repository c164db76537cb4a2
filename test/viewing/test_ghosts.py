"""Ghosts on a page: of a second bag, of a bag beside a run, and of a topic, where the motions of the worlds say."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from nightly import only
from page import opened, press, script, told
from robot_topics import a, stamped, transforms, written
from scipy.spatial.transform import Rotation
from sending import sending
from waiting import until

from sim_node.cli.main import main
from sim_node.recording.bag import BagError
from sim_node.session import Session
from sim_node.session.bag_ghost import BagGhost
from sim_node.session.bag_view import BagView
from sim_node.viewing.browser.ghosts import TopicGhost
from sim_node.viewing.browser.layers import Layers
from sim_node.viewing.browser.plots import DIFFERENCES
from sim_node.viewing.browser.stream import Instant
from sim_node.viewing.browser.viewer import Viewer
from sim_node.world import loads
from sim_node.world.frame_table import table_of

# Along x at a speed, and turning about z.
WORLD = """
world: flight
time: {{step: 0.01}}
motions:
  - frame: drone/base_link
    keyframes:
      - {{t: 0, position: [0, 0, {height}], rpy_deg: [0, 0, 0]}}
      - {{t: 4, position: [4, 0, {height}], rpy_deg: [0, 0, {turn}]}}
bodies:
  - {{name: ground, geometry: [{{plane: true}}]}}
  - {{name: ball, parent: drone/base_link, geometry: [{{sphere: 0.3, color: [1, 0, 1]}}]}}
"""


def recorded(path: Path, height: float, turn: float = 0.0) -> Path:
    with Session(loads(WORLD.format(height=height, turn=turn)), record=path, real_time_factor=0.0) as session:
        session.run(3.0)
    return path


@pytest.fixture(scope="module")
def bags(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Of three seconds each: the second one flies 0.5 m higher, and is turned by 10 degrees a second."""
    folder = tmp_path_factory.mktemp("bags")
    return recorded(folder / "first", 3.0), recorded(folder / "second", 3.5, 40.0)


@pytest.fixture
def viewer() -> Iterator[Viewer]:
    made = Viewer(0, "test")
    yield made
    made.close()


def at(viewer: Viewer, frame: str) -> np.ndarray:
    assert viewer.scene is not None
    pose: np.ndarray = viewer.scene.in_root[viewer.scene.frames.index(frame)]
    return pose


def is_near(viewer: Viewer, x: float) -> bool:
    return bool(abs(at(viewer, "drone/base_link")[0] - x) < 0.02)


def plotted(viewer: Viewer, name: str) -> np.ndarray:
    return next(plot._samples for plot in viewer._plots._plots if plot.name == name)


def test_a_second_bag_is_a_ghost_on_the_time_line_of_the_first(bags: tuple[Path, Path], viewer: Viewer) -> None:
    viewer.ghosts.sources = [BagGhost(bags[1], print)]
    view = BagView(bags[0], viewer, print)
    view.start(paused=True)
    with opened(viewer.url) as page, script(viewer.url) as foot:
        for seconds in (0.5, 2.0, 1.0):  # back, too
            press(foot, "seek", told(foot, "state")["start"] + seconds)
            until(partial(is_near, viewer, seconds), "the instant")
            time_s, ghost = at(viewer, "drone/base_link")[0], at(viewer, "ghost/drone/base_link")
            assert ghost[:3] == pytest.approx([time_s, 0.0, 3.5], abs=1e-6)
            assert Rotation.from_quat(ghost[3:]).as_euler("xyz", True) == pytest.approx([0, 0, 10 * time_s], abs=1e-4)
        balls = [
            m["props"]
            for m in page.all("BatchedMeshesMessage")
            if m["props"]["batched_opacities"] is not None and (m["props"]["batched_opacities"] < 0.6).all()
        ]
        assert len(balls) == 1, "the ball, but not the ground"
    view.close()


def trail(viewer: Viewer, frame: str) -> np.ndarray:
    """The points (P, 3) of a trail."""
    assert viewer.scene is not None
    points: np.ndarray = viewer.scene.trails._points[viewer.scene.trails._names.index(frame)]
    return points


@pytest.mark.parametrize("kind", only(["bag", "topic", "topic of a layer"], 2))
def test_the_trail_of_a_ghost_is_what_was_before_the_instant(
    kind: str, bags: tuple[Path, Path], tmp_path: Path, viewer: Viewer
) -> None:
    """The ghost goes along x half a metre above the body, or along y; at 1 m/s, the two seconds before."""
    times = [0.01 * k for k in range(301)]
    lines = [("/tf", t, transforms("map", "drone/base_link", (t, 0.0, 3.0), t)) for t in times]
    lines += [("/drone/pose", t, stamped("map", (0.0, t, 2.0), t)) for t in times]
    prefix = "bag/" if kind == "topic of a layer" else ""
    bag, along = (bags[0], 0) if kind == "bag" else (written(tmp_path / "run", sorted(lines, key=lambda a: a[1])), 1)
    viewer.ghosts.sources = [BagGhost(bags[1], print) if kind == "bag" else TopicGhost(f"/{prefix}drone/pose", "")]
    view = BagView(bag, Layers(viewer, ["bag"], print, prefixes=[prefix]).layers[0] if prefix else viewer, print)
    view.start(paused=True)
    frame = f"ghost/{prefix}drone/base_link"
    for seconds in (2.75, 0.5, 2.25):  # on, and back
        view.seek(view.span[0] + round(1e9 * seconds))
        until(lambda at=seconds: abs(trail(viewer, frame)[-1, along] - at) < 0.03, "the instant")  # type: ignore[misc]
        points = trail(viewer, frame)
        across = np.delete(points, along, axis=1)
        assert across == pytest.approx(np.tile([0.0, 3.5 if kind == "bag" else 2.0], (len(points), 1)), abs=1e-6)
        assert points[:, along].min() == pytest.approx(max(seconds - 2.0, 0.0), abs=0.03)
        assert np.linalg.norm(np.diff(points, axis=0), axis=1).max() < 0.06
    view.close()


def test_how_a_ghost_differs_is_plotted(bags: tuple[Path, Path], viewer: Viewer) -> None:
    viewer.ghosts.sources = [BagGhost(bags[1], print)]
    view = BagView(bags[0], viewer, print)
    view.start()
    position, attitude = DIFFERENCES
    until(lambda: len(plotted(viewer, position)) > 20, "samples")
    view.close()
    x, y, z = plotted(viewer, position)[:, 1:].T
    assert np.stack([x, y, z - 0.5]) == pytest.approx(0.0, abs=1e-6), "at the stamps of the poses that are shown"
    time_s, *turns = plotted(viewer, attitude).T
    assert turns[2] == pytest.approx(10.0 * time_s, abs=0.3)
    assert np.stack(turns[:2]) == pytest.approx(0.0, abs=1e-6)


def test_a_bag_is_a_ghost_of_a_run_at_its_time(bags: tuple[Path, Path]) -> None:
    world = loads(WORLD.format(height=1.0, turn=0.0))
    with Session(world, view=0, ghosts=[BagGhost(bags[0], print)], real_time_factor=0.0) as session:
        session.run(1.5)
        viewer = session.viewer
        assert viewer is not None
        until(lambda: at(viewer, "drone/base_link")[:3] == pytest.approx([1.5, 0.0, 1.0]), "the end")
        assert at(viewer, "ghost/drone/base_link")[:3] == pytest.approx([1.5, 0.0, 3.0], abs=1e-6)


def test_a_bag_with_another_clock_begins_when_the_page_does(tmp_path: Path, viewer: Viewer) -> None:
    """Stamps of today beside those of a simulation."""
    today, said = 1_795_000_000.0, list[str]()
    times = [0.1 * k for k in range(31)]
    lines = [("/tf", today + t, transforms("map", "drone/base_link", (0.0, t, 0.0), today + t)) for t in times]
    ghost = BagGhost(written(tmp_path / "real", lines), said.append)
    poses = [ghost.poses(Instant(t_ns, np.zeros((0, 7)), {}), 0)[1, :3].copy() for t_ns in (10**9, 2 * 10**9, 0)]
    ghost.close()
    assert poses == pytest.approx(np.array([[0, 1, 0], [0, 2, 0], [0, 0, 0]]), abs=1e-6)
    assert said == ["real has another clock: it begins when the page does"]


def test_transforms_that_come_seldom_are_found_after_a_jump(tmp_path: Path) -> None:
    lines = [("/tf", 0.5 * k, transforms("map", "drone", (0.5 * k, 0.0, 0.0), 0.5 * k)) for k in range(9)]
    ghost = BagGhost(written(tmp_path / "slow", lines), print)
    found = [ghost.poses(Instant(t_ns, np.zeros((0, 7)), {}), 0)[1, 0] for t_ns in (3250 * 10**6, 10**9 // 4, 10**9)]
    ghost.close()
    assert found == pytest.approx([3.25, 0.25, 1.0], abs=1e-6)


@pytest.mark.parametrize("recorded_s", [1_795_000_000.0, 1000.0])
def test_a_recording_of_the_graph_and_a_bag_meet_by_their_stamps(
    recorded_s: float, tmp_path: Path, bags: tuple[Path, Path], viewer: Viewer
) -> None:
    """As `record --live` has it: recorded at times of another clock, and a static transform comes after others."""
    base, begin_s = "drone/base_link", 0.5
    lines = [
        ("/tf", recorded_s + t, transforms("map", base, (begin_s + t, 5.0, 1.0), begin_s + t))
        for t in np.arange(0.0, 2.4, 0.02).tolist()
    ]
    lines.append(("/tf_static", recorded_s + 0.51, transforms(base, "drone/camera", (0.1, 0.0, 0.0), 0.0)))
    live = written(tmp_path / "live", sorted(lines, key=lambda line: line[1]))
    viewer.ghosts.sources = [BagGhost(bags[0], print)]
    view = BagView(live, viewer, print)
    view.start(paused=True)
    for seconds in (1.0, 2.2, 0.6):
        view.seek(round(1e9 * (recorded_s + seconds)))
        x = begin_s + seconds
        until(lambda x=x: is_near(viewer, x), "the page")  # type: ignore[misc]
        until(lambda x=x: abs(at(viewer, f"ghost/{base}")[0] - x) < 0.02, "the ghost")  # type: ignore[misc]
    view.close()
    # And the other way round.
    ghost = BagGhost(live, print)
    found = [ghost.poses(Instant(t_ns, np.zeros((0, 7)), {}), 0)[1, 0] for t_ns in (10**9, 25 * 10**8, 7 * 10**8)]
    ghost.close()
    assert found == pytest.approx([1.0, 2.5, 0.7], abs=1e-6)


def test_a_jump_in_a_recording_of_a_slow_simulation_is_not_read_from_its_start(tmp_path: Path) -> None:
    """At times of today, a quarter as fast as the wall clock, with a message each 0.16 s; paused for ten minutes."""
    begin_s, pause_s = 1_795_000_000.0, 600.0

    def recorded_at(t: float) -> float:
        return begin_s + 4.0 * t + (pause_s if t > 20.0 else 0.0)

    times = [0.04 * k for k in range(1001)]
    lines = [("/tf", recorded_at(t), transforms("map", "drone", (t, 0.0, 0.0), t)) for t in times]
    ghost = BagGhost(written(tmp_path / "slow", lines), print)
    for seconds in (35.01, 0.5, 19.99, 20.5, 39.9):
        stamp_ns = round(1e9 * seconds)
        assert ghost.poses(Instant(stamp_ns, np.zeros((0, 7)), {}), 0)[1, 0] == pytest.approx(seconds, abs=1e-6)
        beginnings = np.array(ghost._beginnings()) / 1e9
        assert (beginnings <= recorded_at(seconds)).all()
        # A margin of 0.2 s of stamps, between two messages, and the resolution of the bisection.
        assert recorded_at(max(seconds - 0.2, 0.0)) - beginnings[0] < 0.16 + 0.2
    ghost.close()


def test_a_ghost_without_a_world_looks_like_the_page(tmp_path: Path, bags: tuple[Path, Path], viewer: Viewer) -> None:
    lines = [("/tf", t, transforms("map", "drone/base_link", (0.0, t, 0.0), t)) for t in (0.0, 1.0)]
    viewer.ghosts.sources = [BagGhost(written(tmp_path / "bare", lines), print)]
    view = BagView(bags[0], viewer, print)
    assert viewer.scene is not None
    names = [viewer.scene.frames.names[shape.row] for shape in viewer.scene.shapes]
    view.close()
    assert names.count("ghost/ball") == names.count("ball") == 1, "on the body, and unknown to the bag"


def test_a_body_is_where_a_topic_estimates_it(tmp_path: Path, viewer: Viewer) -> None:
    """The truth goes along x, the estimate along y. Its propeller turns as the true one."""
    times = [0.1 * k for k in range(21)]
    lines = [("/tf", t, transforms("map", "drone/base_link", (t, 0.0, 0.0), t)) for t in times]
    lines += [("/tf", t, transforms("drone/base_link", "drone/arm", (0.0, 0.0, t), t)) for t in times]
    lines += [("/drone/local/pose", t, stamped("map", (0.0, t, 2.0), t)) for t in times]
    bag = written(tmp_path / "run", sorted(lines, key=lambda line: line[1]))
    viewer.ghosts.sources = [TopicGhost("/drone/local/pose", "")]
    view = BagView(bag, viewer, print)
    view.start(paused=True)
    view.seek(2_000_000_000)
    until(lambda: at(viewer, "ghost/drone/base_link")[:3] == pytest.approx([0.0, 2.0, 2.0], abs=0.11), "the end")
    assert at(viewer, "ghost/drone/arm")[:3] == pytest.approx([0.0, 2.0, 4.0], abs=0.11)
    view.close()


def test_a_ghost_of_what_comes_later_is_beside_it(bags: tuple[Path, Path], viewer: Viewer) -> None:
    """As in the graph: at first there is only a root. The page then begins on what has come."""
    viewer.ghosts.sources = [BagGhost(bags[1], print)]
    still = np.array([0, 0, 0, 0, 0, 0, 1.0])
    viewer.set_scene(table_of({}, (), ["map"]), still[None])
    frames = table_of({"drone/base_link": "map"}, {"drone/base_link"})
    viewer.set_scene(frames, np.stack([still, still]))
    assert viewer.scene is not None
    names = viewer.scene.frames.names
    assert names == ("map", "drone/base_link", "ghost/drone/base_link", "ghost/ball")
    assert viewer._look.followed == "drone/base_link"
    assert [plot.name for plot in viewer._plots._plots] == list(DIFFERENCES)


@pytest.mark.usefixtures("ros_domain")
def test_the_graph_is_a_ghost_that_moves_while_the_page_stands(bags: tuple[Path, Path], viewer: Viewer) -> None:
    """The camera on the drone has no shape, and comes with the graph."""
    pytest.importorskip("rclpy", reason="no ROS 2 here")
    from geometry_msgs.msg import TransformStamped
    from tf2_msgs.msg import TFMessage

    from sim_node.ros.live_ghost import LiveGhost

    drone, camera = (TransformStamped(child_frame_id=name) for name in ("drone/base_link", "drone/camera"))
    for transform, parent in ((drone, "map"), (camera, "drone/base_link")):
        transform.header.frame_id, transform.transform.rotation.w = parent, 1.0
    drone.transform.translation.y, camera.transform.translation.x = 7.0, 0.5
    said = list[str]()
    viewer.ghosts.sources = [LiveGhost(said.append)]
    view = BagView(bags[0], viewer, said.append)
    view.start(paused=True)
    view.seek(10**9)
    until(partial(is_near, viewer, 1.0), "the bag, before anything of the graph has come")
    with sending(("/tf", TFMessage(transforms=[drone]), False), ("/tf_static", TFMessage(transforms=[camera]), True)):
        until(lambda: "ghost/drone/camera" in viewer.scene.frames.names, "the graph")  # type: ignore[union-attr]
        until(lambda: at(viewer, "ghost/drone/base_link")[1] == 7.0, "its pose")
        assert at(viewer, "ghost/drone/camera")[:3].tolist() == [0.5, 7.0, 0.0]
        drone.header.stamp.sec, drone.transform.translation.y = 1, 9.0
        until(lambda: at(viewer, "ghost/drone/base_link")[1] == 9.0, "where it has gone")
        assert is_near(viewer, 1.0)
        names = [viewer.scene.frames.names[shape.row] for shape in viewer.scene.shapes]  # type: ignore[union-attr]
        assert names.count("ghost/ball") == names.count("ball") == 1, "on the body, and unknown to the graph"
        view.seek(2 * 10**9)
        until(partial(is_near, viewer, 2.0), "the bag goes on")
        view.play()
        until(lambda: len(plotted(viewer, "Δ position (m)")) > 9, "samples")
        view.close()
    time_s, *far = plotted(viewer, "Δ position (m)").T
    assert np.array(far) == pytest.approx(np.stack([-time_s, 0 * time_s + 9.0, 0 * time_s - 3.0]), abs=0.03)
    assert said == []


@pytest.mark.usefixtures("ros_domain")
@pytest.mark.parametrize(
    ("child", "why"),
    [("cart", "has cart, but not ground, drone/base_link, ball of the page"), ("", "has no transforms yet")],
)
def test_a_graph_without_the_frames_of_the_page_is_said_once(
    child: str, why: str, bags: tuple[Path, Path], viewer: Viewer
) -> None:
    pytest.importorskip("rclpy", reason="no ROS 2 here")
    from geometry_msgs.msg import TransformStamped
    from tf2_msgs.msg import TFMessage

    from sim_node.ros.live_ghost import LiveGhost

    cart = TransformStamped(child_frame_id=child)
    cart.header.frame_id, cart.transform.rotation.w = "map", 1.0
    said = list[str]()
    viewer.ghosts.sources = [LiveGhost(said.append)]
    with sending(("/tf", TFMessage(transforms=[cart] if child else []), False)):
        view = BagView(bags[0], viewer, print)
        view.start()
        until(lambda: said, "what is missing")
    view.close()
    assert said == [f"--ghost live: the graph {why}"]


@pytest.mark.usefixtures("ros_domain")
@pytest.mark.parametrize(
    ("topic", "frame", "why"),
    [
        (
            "/filter/pos",
            "",
            ": there is no topic /filter/pos yet; did you mean /filter/pose? (topics that can be drawn: /filter/pose)",
        ),
        ("/filter/state", "", ": /filter/state: a std_msgs/msg/String has no pose"),
        (
            "/filter/pose",
            "drone/base_lnk",
            " /filter/pose=drone/base_lnk: there is no frame 'drone/base_lnk'; did you mean ",
        ),
    ],
)
def test_a_topic_or_frame_that_the_graph_does_not_have_is_said(
    topic: str, frame: str, why: str, viewer: Viewer
) -> None:
    pytest.importorskip("rclpy", reason="no ROS 2 here")
    from geometry_msgs.msg import PoseStamped, TransformStamped
    from rcl_interfaces.msg import Log
    from std_msgs.msg import String
    from tf2_msgs.msg import TFMessage

    from sim_node.ros.live_view import LiveView

    viewer.ghosts.sources = [TopicGhost(topic, frame)]
    said = list[str]()
    drone = TransformStamped(child_frame_id="drone/base_link")
    drone.header.frame_id, drone.transform.rotation.w = "map", 1.0
    sent = ("/filter/pose", PoseStamped(), False), ("/filter/state", String(), False)
    with sending(*sent, ("/tf", TFMessage(transforms=[drone]), False)):
        live = LiveView(viewer)
        live._node.create_subscription(Log, "/rosout", lambda line: said.append(line.msg), 10)
        until(lambda: [line for line in said if "--ghost" in line], "what is missing")
        live.close()
    assert next(line for line in said if "--ghost" in line).startswith(f"--ghost{why}")


def test_a_frame_that_a_page_does_not_have_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["run", "orbit", "--no-ros", "--view", "0", "--duration", "0.1", "--speed", "max"]
    assert main([*arguments, "--ghost", "/cart/pose=drone/base_lnk"]) == 0
    said = "--ghost /cart/pose=drone/base_lnk: there is no frame 'drone/base_lnk'; "
    assert capsys.readouterr().out.count(said) == 1


# Takes seconds: make test has ghosts of bags and of the graph.
@pytest.mark.nightly
def test_two_bags_and_a_run_with_a_bag_are_one_command(
    bags: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    assert main(["view", str(bags[0]), str(bags[1]), "--export", str(page)]) == 0
    assert f"wrote {page}" in capsys.readouterr().out
    arguments = ["run", "orbit", "--no-ros", "--view", "0", "--duration", "0.1", "--speed", "max"]
    assert main([*arguments, "--ghost", str(bags[0])]) == 0
    assert "viewer: http" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["run", "orbit", "--no-ros", "--ghost", "x"], "--ghost requires --view"),
        (["view", "orbit", "--ghost", "nothing"], "nothing"),
        (["view", "--live", "--ghost", "live"], "--ghost live: --live shows the graph itself"),
        (["run", "orbit", "--view", "0", "--ghost", "live"], "moves the frames of the graph itself; add --no-ros"),
        (["view", "orbit", "--apart"], "--apart"),
    ],
)
def test_a_ghost_that_cannot_be_is_one_line(arguments: list[str], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert why in capsys.readouterr().err


def test_a_topic_that_a_bag_does_not_have_is_named_with_the_nearest(
    bags: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["view", str(bags[0]), "--port", "0", "--ghost", "/tff"]) == 2
    assert "did you mean /tf?" in capsys.readouterr().err


def test_an_exported_page_has_no_graph(bags: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["view", str(bags[0]), "--ghost", "live", "--export", "page.html"]) == 2
    assert "--ghost live: a page of --export plays without the graph" in capsys.readouterr().err


def test_a_bag_without_transforms_is_no_ghost(tmp_path: Path) -> None:
    with pytest.raises(BagError, match="no transforms"):
        BagGhost(written(tmp_path / "log", [("/log", 0.0, a("std_msgs/String", data="x"))]), print)


RUN = (
    WORLD
    + """
sensors:
  - name: drone/ODOM
    parent: drone/base_link
    type: odometry
    rate: 100
    linear: {{density: 0, scale_error: 0}}
    angular: {{density: 0, bias_instability: 0}}
"""
)


# Takes seconds: make test has ghosts of bags and of the graph.
@pytest.mark.nightly
def test_an_estimate_of_a_run_is_a_ghost_and_its_difference_is_plotted() -> None:
    """Dead reckoning without noise: its frame, which nothing else has, begins where the drone does."""
    ghost = TopicGhost("/drone/odom/odom", "drone/base_link")
    with Session(loads(RUN.format(height=3.0, turn=40.0)), view=0, ghosts=[ghost], real_time_factor=1.0) as session:
        session.run(1.5)
        viewer = session.viewer
        assert viewer is not None
        until(lambda: at(viewer, "drone/base_link")[:3] == pytest.approx([1.5, 0.0, 3.0]), "the end")
        assert at(viewer, "ghost/drone/base_link") == pytest.approx(at(viewer, "drone/base_link"), abs=0.02)
        _, x, y, z = plotted(viewer, "Δ position (m)").T
        assert len(x) > 10
        assert np.stack([x, y, z]) == pytest.approx(0.0, abs=0.02)


def test_an_estimate_from_elsewhere_is_a_ghost_of_a_run() -> None:
    """Messages that come to a run, as from a filter in another program: half a metre above the truth."""
    ghost, said = TopicGhost("/filter/pose", ""), list[str]()
    world = loads(WORLD.format(height=3.0, turn=0.0))
    with Session(world, view=0, ghosts=[ghost], warn=said.append, paused=True) as session:
        session.start()
        assert session.estimates is not None
        assert session.estimates.missing() == ["/filter/pose"]
        session.estimates.receive("/filter/pose", "geometry_msgs/msg/PoseStamped", stamped("map", (0.0, 0.0, 3.5)))
        session.loop.step(1)
        viewer = session.viewer
        assert viewer is not None
        until(lambda: at(viewer, "ghost/drone/base_link")[:3] == pytest.approx([0.0, 0.0, 3.5]), "the estimate")
        assert at(viewer, "drone/base_link")[2] == pytest.approx(3.0)
    assert len(said) == 1
    assert said[0].startswith("--ghost: the run has no topic /filter/pose")
