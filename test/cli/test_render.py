"""sim_node render: files, their pictures, and mistakes; without a display, and without OpenGL."""

from __future__ import annotations

import ctypes.util
import os
import signal
import subprocess
import sys
from pathlib import Path

import av
import numpy as np
import pytest
from nightly import only
from PIL import Image
from recorded_runs import record
from waiting import PATIENCE, until
from written import T0, Row, tf_message, write_bag

from sim_node.cli.main import main

# A red ball on a frame that goes from y = -2 to y = 2 at z = 2, in 4 s.
CROSSING = """
world: crossing
time: {start: 1.0, step: 0.01}
motions:
  - frame: base
    keyframes:
      - {t: 1, position: [0, -2, 2]}
      - {t: 5, position: [0, 2, 2]}
bodies:
  - {name: ball, parent: base, geometry: [{sphere: 0.15, color: [0.9, 0.05, 0.05]}]}
sensors:
  - {name: CAM_WEST, parent: map, type: camera, width: 320, height: 240, pose: {position: [-6, 0, 2]}}
"""
WIDTH, HEIGHT = 320, 180
EYE = ["--camera=-6,0,2@0,0,2,60", "--size", f"{WIDTH}x{HEIGHT}"]
OPENGL = ("foo", "osmesa", "glfw", "off")
FOCAL = 160.0 / np.tan(np.radians(30.0))


@pytest.fixture
def world(tmp_path: Path) -> str:
    path = tmp_path / "crossing.yaml"
    path.write_text(CROSSING)
    return str(path)


def column(image: np.ndarray) -> float:
    """The middle of what is red."""
    image = image.astype(int)
    return float(np.nonzero((image[..., 0] - image[..., 1] > 60) & (image[..., 0] - image[..., 2] > 60))[1].mean())


@pytest.mark.usefixtures("opengl")
def test_a_picture_is_written_and_reported(world: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """At 2 s the ball is at y = -1."""
    out = tmp_path / "there.png"
    assert main(["render", world, "--at", "2", *EYE, "-o", str(out)]) == 0
    assert capsys.readouterr().out.startswith(f"{out}: at 2 s, ")
    with Image.open(out) as image:
        assert image.size == (WIDTH, HEIGHT)
        assert abs(column(np.asarray(image)) - (0.5 * (WIDTH - 1) + FOCAL / 6.0)) < 1.0


@pytest.mark.usefixtures("opengl", "one_sun")
def test_a_camera_of_the_world_gives_its_own_size(world: str, tmp_path: Path) -> None:
    out = tmp_path / "seen.png"
    assert main(["render", world, "--camera", "CAM_WEST", "-o", str(out)]) == 0
    with Image.open(out) as image:
        assert image.size == (320, 240)


@pytest.mark.usefixtures("opengl")
def test_a_film_shows_the_motion_at_its_times(world: str, tmp_path: Path) -> None:
    """Twice as fast, 12 pictures a second, 2 s from 2 s on: picture k is of 2 + k / 6 s, when y = k / 6 - 1."""
    out = tmp_path / "film.mp4"
    asked = ["--from", "2", "--duration", "2", "--fps", "12", "--speed", "2"]
    assert main(["render", world, *EYE, *asked, "--video", str(out)]) == 0
    with av.open(str(out)) as container:
        images = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
        stream = container.streams.video[0]
        assert (stream.average_rate, stream.duration * stream.time_base) == (12, 1)
    assert len(images) == 12
    for k, image in enumerate(images):
        y = k / 6.0 - 1.0
        assert abs(column(image) - (0.5 * (WIDTH - 1) - FOCAL * y / 6.0)) < 1.5


# Takes seconds: make test has a picture of a world and a film.
@pytest.mark.nightly
@pytest.mark.usefixtures("opengl", "one_sun")
def test_a_bag_is_drawn_in_the_world_that_it_carries(world: str, tmp_path: Path) -> None:
    """By its transforms: at 2 s the ball is at y = -1. The world's own file is gone by then."""
    bag, out = tmp_path / "bag", tmp_path / "there.png"
    assert record(world, bag, seconds=4.0) == []
    Path(world).unlink()
    assert main(["render", str(bag), "--at", "2", *EYE, "-o", str(out)]) == 0
    with Image.open(out) as image:
        assert abs(column(np.asarray(image)) - (0.5 * (WIDTH - 1) + FOCAL / 6.0)) < 1.0


@pytest.mark.usefixtures("opengl", "one_sun")
def test_a_bag_without_a_world_is_drawn_as_axes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Stamps of the wall clock; times are from the first. From x = -6 one looks along x; base goes from x = 0 to 4 m.

    The tip of its axis y, and so of what is green, is nearer at the start than at the end, hence farther out: by
    the ratio of the distances, 10 m and 6 m.
    """
    rows = [Row("/tf", T0 + k * 10**8, tf_message((T0 + k * 10**8, "map", "base", 0.1 * k))) for k in range(41)]
    bag = write_bag(tmp_path / "bag", {"/tf": ("tf2_msgs/msg/TFMessage", [])}, rows)
    widths = []
    for at in ("0", "4"):
        out = tmp_path / f"{at}.png"
        asked = ["--at", at, "--frames", "base", "--camera=-6,0,1@0,0,1,60", "--size", "640x360"]
        assert main(["render", str(bag), *asked, "-o", str(out)]) == 0
        assert f"{out}: at {at} s, " in capsys.readouterr().out
        image = np.asarray(Image.open(out)).astype(int)
        green = (image[..., 1] - image[..., 0] > 20) & (image[..., 1] - image[..., 2] > 20)
        widths.append(319.5 - np.nonzero(green)[1].min())
    assert widths[0] / widths[1] == pytest.approx(10.0 / 6.0, rel=0.1)
    assert main(["render", str(bag), "--at", "5", "-o", str(tmp_path / "late.png")]) == 2
    assert "5 s is after the bag's end at 4 s" in capsys.readouterr().err


# make test compares bytes of runs in test/recording/test_same_bytes.py, and pictures of them in
# test/system/test_first_pictures.py.
@pytest.mark.nightly
@pytest.mark.usefixtures("opengl")
def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    """A vehicle in gusts, in two processes: two pictures of a film, which have one sun each."""
    out = [tmp_path / f"{name}.webp" for name in "ab"]
    asked = ["formation", "--from", "0.5", "--duration", "0.1", "--fps", "20", "--seed", "7"]
    asked += ["--size", "320x180", "--trail", "alpha/base_link", "--time"]
    assert main(["render", *asked, "--video", str(out[0])]) == 0
    subprocess.run([sys.executable, "-m", "sim_node.cli.main", "render", *asked, "--video", out[1]], check=True)
    assert out[0].read_bytes() == out[1].read_bytes()


@pytest.mark.parametrize(
    ("asked", "reported"),
    [
        (["-o", "a.bmp"], "no picture ends in '.bmp'; allowed: .jpeg, .jpg, .png, .webp"),
        (["-o", "a.mp4"], "(use --video for a film); allowed: "),
        (["--video", "a.avi"], "no film ends in '.avi'; allowed: .gif, .mp4, .webp"),
        (["-o", "nowhere/a.png"], "folder nowhere does not exist"),
        (["-o", "a.png", "--at", "0.5"], "0.5 s is before the world's start at 1 s"),
        (["-o", "a.png", "--at", "3e9"], "3e+09 s is after the last time that fits into a stamp, 2147483647 s"),
        (["-o", "a.png", "--camera", "CAM_WST"], "no frame 'CAM_WST'; did you mean CAM_WEST? (cameras: CAM_WEST)"),
        (["-o", "a.png", "--panels"], "the world's schematic has no panels"),
        (["-o", "a.png", "--panels", "--trail", "base"], "--panels cannot be combined with --trail"),
        (["-o", "a.png", "--follow", "bas"], "no frame 'bas'; did you mean base?"),
        (["-o", "a.png", "--fps", "30"], "--fps applies to films; use --at for a picture"),
        (["--video", "a.mp4", "--at", "3"], "--at applies to pictures; use --from and --duration for a film"),
        (["--video", "a.mp4", "--duration", "1e9"], "allowed: up to 200000"),
        (["--video", "a.mp4", "--size", "321x180", "--duration", "0.1"], "even width and height, found 321x180"),
    ],
)
@pytest.mark.usefixtures("opengl")
def test_mistakes_are_reported_in_one_line_and_leave_nothing(
    world: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    asked: list[str],
    reported: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["render", world, *asked]) == 2
    error = capsys.readouterr().err
    assert reported in error
    assert error.count("\n") == 1
    assert os.listdir(tmp_path) == ["crossing.yaml"]


# make test names a missing driver where one is chosen that does not work, below.
@pytest.mark.nightly
def test_without_a_driver_the_packages_are_named(world: str, tmp_path: Path) -> None:
    """glvnd finds the drivers of EGL by files; here it is told that there are none."""
    environment = {**os.environ, "__EGL_VENDOR_LIBRARY_FILENAMES": "/dev/null"}
    environment.pop("MUJOCO_GL", None)
    ran = subprocess.run(
        [sys.executable, "-m", "sim_node.cli.main", "render", world, "-o", tmp_path / "a.png"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 2
    assert "apt install libegl1 libgl1-mesa-dri libopengl0" in ran.stderr
    assert "object has no attribute" not in ran.stderr
    assert ran.stderr.count("\n") == 1
    assert os.listdir(tmp_path) == ["crossing.yaml"]


@pytest.mark.parametrize(
    ("command", "chosen"),
    [
        *only((("render {world} -o a.png", chosen) for chosen in OPENGL), 0),
        # Other worlds that have cameras.
        *(pytest.param("check arm", chosen, marks=pytest.mark.nightly) for chosen in ("foo", "off")),
        # Other commands that do not draw.
        *(pytest.param("tree {world}", chosen, marks=pytest.mark.nightly) for chosen in OPENGL),
        *(pytest.param("urdf quadrotor", chosen, marks=pytest.mark.nightly) for chosen in ("foo", "off")),
    ],
)
def test_a_choice_of_opengl_that_does_not_work_is_one_error(
    command: str, chosen: str, world: str, tmp_path: Path
) -> None:
    """Or no matter, where nothing is drawn and MuJoCo can do without."""
    environment = {**os.environ, "MUJOCO_GL": chosen}
    # What drew in this process set the last one.
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "PYOPENGL_PLATFORM"):
        environment.pop(name, None)
    ran = subprocess.run(
        [sys.executable, "-m", "sim_node.cli.main", *command.format(world=world).split()],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    draws = command.startswith("render")
    if chosen == "osmesa" and ctypes.util.find_library("OSMesa"):
        assert ran.returncode == 0
        return
    if draws or chosen in ("foo", "osmesa"):
        assert ran.returncode == 2
        assert f"MUJOCO_GL={chosen}: " in ran.stderr
        assert "allowed: egl, osmesa, glfw, off (no rendering), or unset" in ran.stderr
        assert len([line for line in ran.stderr.splitlines() if not line.startswith("1 error")]) == 1
    else:
        assert (ran.returncode, ran.stderr) == (0, "")
    assert "Traceback" not in ran.stderr


# Takes seconds: make test has a picture of a world and a film.
@pytest.mark.nightly
@pytest.mark.usefixtures("opengl")
@pytest.mark.parametrize("number", only([signal.SIGINT, signal.SIGTERM], 0))
def test_a_signal_leaves_no_half_written_film(world: str, tmp_path: Path, number: signal.Signals) -> None:
    # Long enough to be drawn for some seconds; all of it is simulated first.
    asked = ["render", world, *EYE, "--duration", "8", "--video", str(tmp_path / "film.mp4")]
    process = subprocess.Popen([sys.executable, "-m", "sim_node.cli.main", *asked], stderr=subprocess.PIPE)
    stderr = process.stderr
    assert stderr is not None
    try:
        # The file is there when the drawing is under way: nothing else tells.
        until(
            lambda: process.poll() is not None or any(path.suffix == ".part" for path in tmp_path.iterdir()), "a film"
        )
        process.send_signal(number)
        assert process.wait(PATIENCE) == 130, stderr.read()
    finally:
        process.kill()
        stderr.close()
    assert os.listdir(tmp_path) == ["crossing.yaml"]
