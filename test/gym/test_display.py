"""What environments show: pictures of the present step, and a page in the browser."""

from __future__ import annotations

import urllib.request
import warnings

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium", reason="needs gymnasium")

from sim_node.extensions.gym import Environment  # noqa: E402
from sim_node.viewing import NoOpenGL  # noqa: E402


def test_pictures_show_the_present_step() -> None:
    """The cart is where the camera sees it: the projection of its position, by hand."""
    environment = Environment("cart_pole", render_mode="rgb_array", size=(160, 120))
    try:
        environment.reset(options={"values": {"bodies[cart].joint.q": -1.5}})
        left = environment.render()
        environment.reset(options={"values": {"bodies[cart].joint.q": 1.5}})
        right = environment.render()
    except NoOpenGL as reason:
        pytest.skip(str(reason))
    finally:
        environment.close()
    assert left is not None
    assert right is not None
    assert left.shape == (120, 160, 3)
    # The camera is 6 m away with a horizontal field of view of 50 degrees, and looks along y: x is to the right.
    width = 2.0 * 6.04 * np.tan(np.radians(25.0))
    for picture, place in ((left, -1.5), (right, 1.5)):
        blue = picture[..., 2].astype(int) - picture[..., 0] > 60
        columns = np.flatnonzero(blue.any(axis=0))
        assert columns.mean() == pytest.approx(80 + 160 * place / width, abs=4)


def test_the_page_shows_the_run_in_real_time(capsys: pytest.CaptureFixture[str]) -> None:
    environment = Environment("cart_pole", render_mode="human")
    try:
        environment.reset(seed=0)
        environment.step([0.0])
        assert environment.page is not None
        assert environment.render() is None
        assert environment.page.url in capsys.readouterr().out
        with urllib.request.urlopen(environment.page.url, timeout=60) as answer:
            assert answer.status == 200
    finally:
        environment.close()
    assert environment.page is None


def test_gymnasium_knows_the_render_modes() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        environment = gymnasium.make("sim_node/Waypoints-v0", render_mode="rgb_array")
    assert environment.metadata["render_fps"] == 10.0


def test_an_unknown_render_mode_is_refused() -> None:
    with pytest.raises(ValueError, match="render_mode 'ansi'; allowed: human, rgb_array, None"):
        Environment("cart_pole", render_mode="ansi")
