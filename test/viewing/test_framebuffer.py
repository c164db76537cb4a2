"""Framebuffers of a thread share one context of OpenGL, and each draws its own scene."""

from __future__ import annotations

import subprocess
import sys
import threading

import mujoco
import numpy as np
import pytest

from sim_node.viewing.framebuffer import Framebuffer, Pixels

pytestmark = pytest.mark.usefixtures("opengl")

SIZE = 64, 48
RED, BLUE = "1 0 0 1", "0 0 1 1"


def ball(colour: str) -> tuple[mujoco.MjModel, mujoco.MjvScene]:
    """A ball of a colour in the middle of the picture."""
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><visual><global offwidth="{SIZE[0]}" offheight="{SIZE[1]}"/></visual>
        <worldbody><geom type="sphere" size=".4" rgba="{colour}"/></worldbody></mujoco>"""
    )
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    scene, eye = mujoco.MjvScene(model, 100), mujoco.MjvCamera()
    eye.distance = 2.0
    mujoco.mjv_updateScene(model, data, mujoco.MjvOption(), None, eye, mujoco.mjtCatBit.mjCAT_ALL, scene)
    return model, scene


def drawn(colour: str) -> Pixels:
    model, scene = ball(colour)
    with Framebuffer(SIZE) as framebuffer:
        framebuffer.prepare(model)
        return framebuffer.draw(scene)


def test_two_framebuffers_in_turns_draw_what_each_draws_alone() -> None:
    red, blue = drawn(RED), drawn(BLUE)
    # The middle of each picture is its ball.
    assert [int(np.argmax(picture[SIZE[1] // 2, SIZE[0] // 2])) for picture in (red, blue)] == [0, 2]
    (red_model, red_scene), (blue_model, blue_scene) = ball(RED), ball(BLUE)
    with Framebuffer(SIZE) as of_red, Framebuffer(SIZE) as of_blue:
        of_red.prepare(red_model)
        of_blue.prepare(blue_model)
        for _ in range(2):
            np.testing.assert_array_equal(of_red.draw(red_scene), red)
            np.testing.assert_array_equal(of_blue.draw(blue_scene), blue)


def test_each_thread_draws_the_same() -> None:
    pictures: list[Pixels] = []
    for _ in range(2):
        thread = threading.Thread(target=lambda: pictures.append(drawn(RED)))
        thread.start()
        thread.join()
    assert len(pictures) == 2
    for picture in pictures:
        np.testing.assert_array_equal(picture, drawn(RED))


def test_a_process_with_framebuffers_in_use_ends_in_silence() -> None:
    code = """
import threading
from sim_node.viewing.framebuffer import Framebuffer
kept = Framebuffer((8, 8)).__enter__()
entered = threading.Event()
def wait():
    with Framebuffer((8, 8)):
        entered.set()
        threading.Event().wait()
threading.Thread(target=wait, daemon=True).start()
entered.wait()
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
