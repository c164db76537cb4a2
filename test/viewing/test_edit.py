"""The tab Edit: a file added by its button, and a body dragged by its handles, in a real run."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from typing import Annotated, Any

import numpy as np
import pytest
from page import Page, camera, opened, press, script, told
from waiting import until

from sim_node import Session, loads
from sim_node.session.entities import Filters
from sim_node.session.requests import RequestContext
from sim_node.simulation.requests import REQUESTS, request
from sim_node.viewing.browser.pick import HANDLES
from sim_node.world.quantities import Whole

YARD = """
world: yard
physics: {gravity: [0, 0, 0]}
bodies:
  - {name: crate, joint: free, pose: {position: [1, 2, 3]}, geometry: [{box: [1, 1, 1], mass: 3}]}
  - {name: bench, geometry: [{box: [1, 1, 1], mass: 3}]}
"""
TURN = math.sqrt(0.5)


@pytest.fixture
def run() -> Iterator[Session]:
    with Session(loads(YARD), view=0, paused=True) as session:
        session.start()
        yield session


def choose(page: Page, label: str, value: str) -> None:
    page.send({"type": "GuiUpdateMessage", "uuid": page.element(label)["uuid"], "updates": {"value": value}})


def select(page: Page, frame: str) -> None:
    choose(page, "Selected", frame)
    page.until(lambda page: described(page, frame))


def described(page: Page, frame: str) -> bool:
    """Whether what is known of a frame came last of what is selected; the tab Frames names no parent."""
    texts = [str(message["updates"].get("_markdown")) for message in page.all("GuiUpdateMessage")]
    found = [text for text in texts if "parent `" in text]
    return bool(found) and found[-1].startswith(f"`{frame}` in `map`")


def options(page: Page) -> list[str]:
    """The buttons of what is selected, as they stand."""
    uuid, found = page.element("Do")["uuid"], page.element("Do")["props"]["options"]
    for message in page.all("GuiUpdateMessage", uuid=uuid):
        found = message["updates"].get("options", found)
    return list(found)


def drag(page: Page, **pose: Any) -> None:
    page.send({"type": "TransformControlsDragStartMessage", "name": HANDLES, "owner": ""})
    page.send({"type": "TransformControlsUpdateMessage", "name": HANDLES, "owner": "", **pose})
    page.send({"type": "TransformControlsDragEndMessage", "name": HANDLES, "owner": ""})


def test_a_body_is_dragged(run: Session) -> None:
    assert run.viewer is not None
    crate = run.simulation.bodies["crate"]
    crate.twist = [1, 0, 0, 0, 0, 0]
    with opened(run.viewer.url) as page:
        select(page, "bench")
        assert options(page) == ["Follow", "Hide", "Plot"], "it does not float free"
        select(page, "crate")
        assert options(page) == ["Follow", "Hide", "Plot", "Drag", "Push"]
        choose(page, "Do", "Drag")
        page.until(lambda page: page.has("TransformControlsMessage", name=HANDLES))
        drag(page, position=(4.0, 5.0, 6.0), wxyz=(TURN, 0.0, 0.0, TURN))
        until(lambda: run.loop.call(lambda: crate.pose[0]) == 4.0, "the pose that the handles have")
        np.testing.assert_allclose(run.loop.call(lambda: crate.pose), [4, 5, 6, 0, 0, TURN, TURN], atol=1e-12)
        assert not run.loop.call(lambda: crate.twist).any()
        choose(page, "Do", "Drag")
        page.until(lambda page: page.has("RemoveSceneNodeMessage", name=HANDLES))


def test_a_push_adds_a_velocity_away_from_the_camera(run: Session) -> None:
    """The camera looks along y, and down: only what is level counts."""
    assert run.viewer is not None
    crate = run.simulation.bodies["crate"]
    crate.twist = [0, 0, 0.5, 0, 0, 0.25]
    with opened(run.viewer.url) as page:
        select(page, "crate")
        page.send(camera(eye=(0.0, -9.0, 5.0), at=(0.0, 2.0, 1.0)))  # after the viewer has chosen the first view
        choose(page, "Do", "Push")
        until(lambda: run.loop.call(lambda: crate.twist[1]) > 0.0, "the push")
        np.testing.assert_allclose(run.loop.call(lambda: crate.twist), [0, 1, 0.5, 0, 0, 0.25], atol=1e-9)


def test_a_frame_is_not_described_before_what_can_be_done_with_it_is_known(run: Session) -> None:
    """The next instant may be shown between the choice of a page and the answer to it."""
    viewer = run.viewer
    assert viewer is not None
    with opened(viewer.url) as page:
        page.element("Selected")
        scene = viewer.scene
        assert scene is not None
        with viewer.lock:
            choose(page, "Selected", "crate")
            until(lambda: viewer._picked.chosen == "crate", "the choice")
            viewer._picked.show(1, scene.in_root)
            assert not viewer._picked._answer.content
        page.until(lambda page: described(page, "crate"))
        assert options(page) == ["Follow", "Hide", "Plot", "Drag", "Push"]


def test_what_is_selected_is_followed_hidden_and_plotted(run: Session) -> None:
    viewer = run.viewer
    assert viewer is not None
    with opened(viewer.url) as page:
        select(page, "crate")
        choose(page, "Do", "Follow")
        until(lambda: viewer._look.followed == "crate", "the frame that is followed")
        choose(page, "Do", "Hide")
        until(lambda: viewer._switches.hidden == ["crate"], "what is hidden")
        choose(page, "Do", "Plot")
        until(lambda: "position (m) of crate" in viewer._plots.shown, "the plot")
        select(page, "bench")
        choose(page, "Do", "Follow")
        page.until(lambda page: "bench does not move" in str(page.messages))


@pytest.mark.parametrize("first", ["click", "word"])
def test_a_double_click_brings_what_was_clicked_into_the_middle(run: Session, first: str) -> None:
    """The click and the word of the browser that it was a double one come by two sockets, in any order."""
    viewer = run.viewer
    assert viewer is not None
    with opened(viewer.url) as page, script(viewer.url) as foot:
        before = told(foot, "opening")["number"]
        page.until(lambda page: any(page.placed(m["name"])[2] == 3.0 for m in page.all("BatchedMeshesMessage")))
        crate = next(m["name"] for m in page.all("BatchedMeshesMessage") if page.placed(m["name"])[2] == 3.0)
        ray = {"ray_origin": (0.0, 0.0, 9.0), "ray_direction": (0.0, 0.0, -1.0), "screen_pos": (0.5, 0.5)}
        click = {"type": "SceneNodeClickMessage", "name": crate, "instance_index": 0, "modifier": None, "owner": ""}
        opening = {"number": before}
        while opening["number"] == before:
            # A busy machine takes them for two things; whoever sees nothing happen clicks again.
            for what in ("click", "word") if first == "click" else ("word", "click"):
                page.send({**click, **ray}) if what == "click" else press(foot, "focus")
            with suppress(TimeoutError):
                opening = told(foot, "opening", patience=5.0)
        assert viewer._look.followed == "crate"
        assert opening["box"] == pytest.approx([0, 0, 0, 0.5, 0.5, 0.5]), "seen from the crate"


def test_a_vehicle_is_added_and_what_is_refused_is_shown(run: Session) -> None:
    assert run.viewer is not None
    with opened(run.viewer.url) as page:
        choose(page, "File", "package://sim_node/config/models/arm.urdf")
        choose(page, "Name", "arm")
        choose(page, "Pose", "7, 0, 0")
        choose(page, "World", "Ask")
        until(lambda: run.entities.names(Filters("^arm$")), "what was added")
        np.testing.assert_allclose(run.entities.state("arm")[0].pose[0, :3], [7, 0, 0], atol=1e-12)
        choose(page, "File", "/etc/passwd")
        choose(page, "World", "Ask")
        page.until(lambda page: any("outside the folders" in str(message) for message in page.messages))
        assert len(run.entities.names(Filters())) == 3


def greet(context: RequestContext, /, who: str, *, times: Annotated[int, Whole(1, 3)] = 1, loud: bool = False) -> str:
    """Greet somebody.

    Args:
        context: The run.
        who: Who is greeted.
        times: How often.
        loud: Whether all hear it.
    """
    return " ".join(["HELLO" if loud else "hello"] * times + [who])


def test_a_request_that_is_added_has_a_form() -> None:
    with REQUESTS.extended({}):
        request("greet")(greet)
        with Session(loads(YARD), view=0, paused=True) as session:
            session.start()
            assert session.viewer is not None
            with opened(session.viewer.url) as page:

                def is_told(text: str) -> None:
                    choose(page, "World", "Ask")
                    page.until(lambda page: any(text in str(message) for message in page.messages))

                choose(page, "Request", "greet")
                assert page.element("Times")["props"]["hint"] == "how often, 1 to 3"
                is_told("greet needs who")
                choose(page, "Who", "Ann")
                choose(page, "Times", "4")
                is_told("4 is out of range; allowed: 1 to 3")
                choose(page, "Times", "2")
                page.send(
                    {"type": "GuiUpdateMessage", "uuid": page.element("Loud")["uuid"], "updates": {"value": True}}
                )
                is_told("HELLO HELLO Ann")
