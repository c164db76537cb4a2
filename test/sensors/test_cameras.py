"""Pictures beside the pinhole: where a small ball is, how deep a wall; and what comes out when."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import warnings
from contextlib import suppress
from pathlib import Path
from signal import Signals
from typing import Any

import numpy as np
import numpy.typing as npt
import psutil
import pytest
from nightly import only
from waiting import PATIENCE, has_ended, until_ended

from sim_node.simulation import Simulation
from sim_node.simulation.sensors import Camera
from sim_node.spatial.geometry import poses, quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import Body, Geometry, Sensor, TimeGrid, World, WorldWarning

HANGING = Body(
    "hanging", "map", "ry", np.array([0, 0, 500, 0, 0, 0, 1]), geometry=(Geometry("sphere", np.array([0.1]), 1.0),)
)
ORIGIN = np.array([0.0, 0, 0, 0, 0, 0, 1])


def world(*shapes: Geometry, kind: str = "camera", pose: FloatArray = ORIGIN, **parameters: Any) -> World:
    bodies = (Body("scene", "map", geometry=shapes), HANGING)
    camera = Sensor("CAM", "map", pose, type=kind, parameters={"rate": 10.0, **parameters})
    return World("scene", time=TimeGrid(step_ns=10_000_000), bodies=bodies, sensors=(camera,))


@pytest.fixture(scope="module")
def gl() -> None:
    """What draws without a display, or the reason to skip: libegl1 and libgl1-mesa-dri of Debian are enough."""
    with warnings.catch_warnings(record=True) as reported:
        warnings.simplefilter("always")
        pictures = Simulation(world(Geometry("sphere", np.array([0.1])))).snapshot().measurements["CAM"].values
    if not len(pictures):
        pytest.skip(f"no OpenGL here: {reported[0].message}")


def picture(world: World) -> npt.NDArray[np.float32]:
    simulation = Simulation(world)
    return np.asarray(simulation.snapshot().measurements["CAM"].values[0])


def centre_of_red(image: npt.NDArray[np.uint8]) -> tuple[float, float]:
    """Mean column and row of the pixels that are much redder than they are green."""
    rows, columns = np.nonzero(image[..., 0].astype(int) - image[..., 1] > 60)
    assert len(rows) > 0
    return columns.mean(), rows.mean()


@pytest.mark.usefixtures("gl")
def test_a_ball_is_at_the_pixel_where_the_camera_matrix_projects_it() -> None:
    """u = K x / z, in the optical frame: Hartley & Zisserman, Multiple View Geometry, section 6.1. From 30 sides."""
    random = np.random.default_rng(1)
    parameters: dict[str, Any] = {"width": 320, "height": 240, "horizontal_fov": 1.0}
    matrix = Camera(**parameters).matrix()
    optical = np.array([0.0, 0, 0, -0.5, 0.5, -0.5, 0.5])
    cameras, expected = [], []
    for number in range(30):
        depth = random.uniform(1.0, 3.0)
        in_optical = depth * np.array([random.uniform(-0.45, 0.45), random.uniform(-0.35, 0.35), 1.0])
        turn = quaternions.normalise(random.normal(size=4))
        # Where the ball, at the fixed frame's origin, is at that place in its view.
        at = -quaternions.rotate(turn, poses.apply(optical, in_optical))
        cameras.append(Sensor(f"CAM{number}", "map", np.array([*at, *turn]), type="camera", parameters=parameters))
        expected.append((matrix @ in_optical)[:2] / depth)
    ball = Body("ball", "map", geometry=(Geometry("sphere", np.array([0.03]), colour=np.array([1.0, 0.0, 0.0, 1.0])),))
    measurements = Simulation(World("ball", bodies=(ball, HANGING), sensors=tuple(cameras))).snapshot().measurements
    found = [centre_of_red(measurements[camera.name].values[0]) for camera in cameras]
    np.testing.assert_allclose(found, expected, atol=0.6)


def test_the_camera_matrix_has_the_focal_length_of_its_angle() -> None:
    """Half the width is seen at half the angle; the axis passes between the middle pixels of an even number."""
    matrix = Camera(width=640, height=480, horizontal_fov=np.pi / 2).matrix()
    np.testing.assert_allclose(matrix, np.array([[320, 0, 319.5], [0, 320, 239.5], [0, 0, 1]]), atol=1e-12)


@pytest.mark.usefixtures("gl")
def test_depth_is_along_the_axis_and_infinite_beyond() -> None:
    """A wall across the view is equally deep everywhere, however far its corners are. REP 118."""
    wall = Geometry("box", np.array([1.0, 4.0, 4.0]), pose=np.array([3.5, 0, 0, 0, 0, 0, 1]))
    depth = picture(world(wall, kind="depth_camera", width=160, height=120, horizontal_fov=1.8))
    assert depth.dtype == np.float32
    half = 2.0 / 3.0 * 80 / np.tan(0.9)
    columns, rows = np.abs(np.arange(160) - 79.5), np.abs(np.arange(120) - 59.5)
    inside = (rows[:, None] < half - 1) & (columns < half - 1)
    outside = (rows[:, None] > half + 1) | (columns > half + 1)
    np.testing.assert_allclose(depth[inside], 3.0, rtol=1e-4)
    assert (depth[outside] == np.inf).all()
    assert outside.any()


@pytest.mark.usefixtures("gl")
def test_a_slanted_ground_is_as_deep_as_geometry_says() -> None:
    """A camera 2 m up, looking ahead: row v sees the ground at depth fy h / (v - cy)."""
    pose = np.array([0.0, 0, 2.0, 0, 0, 0, 1])
    depth = picture(
        world(Geometry("plane", np.array([])), kind="depth_camera", pose=pose, width=64, height=64, far=50.0)
    )
    focal = 32.0 / np.tan(0.6)
    rows = np.arange(40, 64)
    np.testing.assert_allclose(depth[rows, 32], focal * 2.0 / (rows - 31.5), rtol=1e-3)


@pytest.mark.usefixtures("gl")
def test_a_body_that_moves_is_pictured_where_it_is() -> None:
    """A red ball that falls 2 m ahead: its row follows g t²/2."""
    ball = Body(
        "ball",
        "map",
        "free",
        np.array([2, 0, 0.5, 0, 0, 0, 1]),
        geometry=(Geometry("sphere", np.array([0.1]), 1.0, colour=np.array([1, 0, 0, 1])),),
    )
    camera = Sensor("CAM", "map", ORIGIN, type="camera", parameters={"rate": 20.0, "width": 320, "height": 240})
    simulation = Simulation(World("fall", time=TimeGrid(step_ns=10_000_000), bodies=(ball,), sensors=(camera,)))
    simulation.run(0.4)
    stamps_ns, images = simulation.snapshot().measurements["CAM"]
    focal = 160.0 / np.tan(0.6)
    for time_ns, image in zip(stamps_ns.tolist(), images, strict=True):
        height = 0.5 - 0.5 * 9.81 * (time_ns * 1e-9) ** 2
        assert centre_of_red(image)[1] == pytest.approx(119.5 - focal * height / 2.0, abs=1.0)


@pytest.mark.usefixtures("gl")
def test_a_stepped_run_waits_and_is_the_same_each_time() -> None:
    """All pictures of a second, at their stamps, twice the same bytes; those of a step less come with the next."""
    ball = Geometry("sphere", np.array([0.3]), pose=np.array([2, 0, 0, 0, 0, 0, 1]), colour=np.array([1, 0, 0, 1]))
    simulation = Simulation(world(ball, width=160, height=120, latency=0.025))
    simulation.run(1.0)
    first = simulation.snapshot().measurements["CAM"]
    assert (first.stamps_ns / 1e8).tolist() == list(range(10))
    simulation.reset()
    simulation.run(1.0)
    again = simulation.snapshot().measurements["CAM"]
    assert again.values.tobytes() == first.values.tobytes()
    assert simulation.pictures_dropped == 0


@pytest.mark.usefixtures("gl")
def test_a_run_that_does_not_wait_drops_what_drawing_does_not_keep_up_with() -> None:
    """Drawing stands still for half of the run: a few come out, in order, at whole periods; the rest is counted."""
    shapes = [Geometry("sphere", np.array([0.3]), pose=np.array([2.0, 0, 0, 0, 0, 0, 1]))]
    simulation = Simulation(world(*shapes, width=640, height=480, rate=100.0))
    drawing = drawing_processes(os.getpid())[-1]
    drawing.suspend()
    stamps = []
    for step in range(1000):
        if step == 500:
            drawing.resume()
        simulation.step(1, wait=False)
        stamps += simulation.snapshot().measurements["CAM"].stamps_ns.tolist()
    simulation.step(1)
    stamps += simulation.snapshot().measurements["CAM"].stamps_ns.tolist()
    assert stamps == sorted(set(stamps))
    assert all(stamp % 10_000_000 == 0 for stamp in stamps)
    assert simulation.pictures_dropped >= 498, "one may be drawn already, and one waits to be"
    assert len(stamps) + simulation.pictures_dropped == 1001


@pytest.mark.usefixtures("gl")
def test_the_death_of_what_draws_is_reported_once_and_the_run_goes_on() -> None:
    shapes = [Geometry("sphere", np.array([0.3]), pose=np.array([2, 0, 0, 0, 0, 0, 1]))]
    simulation = Simulation(world(*shapes))
    drawing_processes(os.getpid())[-1].kill()
    with pytest.warns(WorldWarning, match="cameras see nothing: the render process has ended") as reported:
        simulation.run(0.5)
    assert len(reported) == 1
    assert simulation.steps == 50
    assert len(simulation.snapshot().measurements["CAM"].stamps_ns) == 0
    assert simulation.pictures_dropped == 5


# Takes seconds: make test has a camera whose program is killed, and one whose process dies.
@pytest.mark.nightly
@pytest.mark.usefixtures("gl")
def test_close_ends_what_draws_and_a_run_that_goes_on_has_the_same_pictures() -> None:
    """With an image on the way, which an ended process does not return; nothing is dropped."""
    ball = Geometry("sphere", np.array([0.3]), pose=np.array([2, 0, 0, 0, 0, 0, 1]), colour=np.array([1, 0, 0, 1]))
    scene = world(ball, width=160, height=120, latency=0.025)
    before = drawing_processes(os.getpid())
    whole, parted = Simulation(scene), Simulation(scene)
    whole.run(0.5)
    drawing = drawing_processes(os.getpid())[-1]
    drawing.suspend()  # the image of 0.1 s is not ready when the run is closed at 0.11 s
    parted.step(11, wait=False)
    parted.close()
    assert has_ended(drawing)
    parted.step(39)
    assert parted.pictures_dropped == 0
    for simulation in (whole, parted):
        simulation.close()
        simulation.close()
    assert set(drawing_processes(os.getpid())) <= set(before)  # those of earlier tests may end meanwhile
    expected, found = whole.snapshot().measurements["CAM"], parted.snapshot().measurements["CAM"]
    later = len(found.stamps_ns)  # the image of the start may be published before
    assert later >= 4
    assert found.stamps_ns.tolist() == expected.stamps_ns[-later:].tolist()
    assert found.values.tobytes() == expected.values[-later:].tobytes()


def test_without_opengl_a_run_has_no_pictures_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUJOCO_GL", "off")
    with pytest.warns(WorldWarning, match="cameras see nothing: off: ") as reported:
        simulation = Simulation(world(Geometry("sphere", np.array([0.1]))))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulation.run(1.0)
    assert len(reported) == 1
    assert len(simulation.snapshot().measurements["CAM"].stamps_ns) == 0


def test_without_shapes_there_is_nothing_to_picture() -> None:
    with pytest.warns(WorldWarning, match="CAM: no images, the world has no shapes"):
        Simulation(World("void", sensors=(Sensor("CAM", "map", ORIGIN, type="camera"),)))


@pytest.mark.usefixtures("gl")
@pytest.mark.parametrize("number", only([signal.SIGINT, signal.SIGKILL], 1))
def test_no_process_stays_behind(number: Signals, tmp_path: Path) -> None:
    """Whatever ends the program that asked for pictures."""
    script = (
        "import signal, time\n"
        # A shell that runs the tests in the background has SIGINT ignored.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from sim_node.simulation import Simulation\n"
        "from sim_node.world import Body, Geometry, Sensor, World\n"
        "ball = Body('ball', 'map', 'free', geometry=(Geometry('sphere', [0.1], 1.0),))\n"
        "camera = Sensor('CAM', 'map', [0, 0, 0, 0, 0, 0, 1], type='camera')\n"
        "simulation = Simulation(World('w', bodies=(ball,), sensors=(camera,)))\n"
        "print('drawn', flush=True)\n"
        "time.sleep(3600)\n"
    )
    program = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    stdout = program.stdout
    assert stdout is not None
    try:
        assert stdout.readline() == b"drawn\n"
        (drawing,) = drawing_processes(program.pid)
        program.send_signal(number)
        program.wait(PATIENCE)
        until_ended(drawing)
    finally:
        program.kill()
        stdout.close()


def drawing_processes(parent: int) -> list[psutil.Process]:
    """Children of a process that draw, oldest first."""
    found = []
    for child in psutil.Process(parent).children():
        with suppress(psutil.NoSuchProcess):  # one of an earlier test, which ends just now
            if any("render_worker" in word for word in child.cmdline()):
                found.append(child)
    return sorted(found, key=lambda child: (child.create_time(), child.pid))
