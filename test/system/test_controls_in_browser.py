"""Each control of the panel, pressed in a real browser: what it does to the page, and to the run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
from forked_programs import program
from nightly import rows
from processes import sim_node
from waiting import PATIENCE, until

from sim_node import Session, loads
from sim_node.session.bag_view import BagView
from sim_node.viewing.browser.viewer import Viewer

# Shapes of bodies, and of sensors among markers.
BODIES, MARKS = 4, 8
WORLD = """
world: controls
time: {step: 0.01}
origin: {latitude: 47.4, longitude: 8.5, altitude: 400}
physics: {integrator: implicitfast, gravity: [0, 0, 0]}
motions: [{frame: cart, keyframes: [{t: 0, position: [0, 3, 0]}, {t: 1000, position: [100, 3, 0]}]}]
bodies:
  - {name: box, parent: cart, geometry: [{box: [0.5, 0.3, 0.4], color: [1, 0, 1]}]}
  - {name: crate, joint: free, pose: {position: [1, -2, 1], rpy_deg: [0, 0, 90]}, geometry: [{box: [1, 1, 1], mass: 3}]}
  - {name: robot, joint: free, geometry: [{sphere: 0.2, mass: 3}]}
  - {name: lift, pose: {position: [3, 0, 0]}, joint: {type: pz, limits: [0, 2]}, geometry: [{sphere: 0.2, mass: 5}]}
actuators: [{joint: lift, stiffness: 500, damping: 100}]
bases:
  - {name: omni, body: robot, type: omni, wheel_radius: 0.1, base_radius: 0.2, drive: kinematic, limits: {linear: 0.8}}
sensors:
  - {name: cart/imu, parent: cart, type: imu, rate: 100}
  - {name: cart/mag, parent: cart, type: magnetometer, rate: 50}
  - {name: cart/left, parent: cart, type: camera, rate: 2, width: 32, height: 24}
  - {name: cart/right, parent: cart, type: camera, rate: 2, width: 48, height: 24}
scenario:
  - {name: shove, do: {push: {body: crate, force: [9, 0, 0], seconds: 1}}}
"""

# Of the scene of a page: how large the axes are that are seen, how many shapes are, and which nodes.
SIZES = """(nodes) => Object.entries(__viserMutable.nodeRefFromName).map(([name, node]) => {
    let size = 0;
    if (name.startsWith(nodes)) node?.traverse((each) => {
        if (!each.isInstancedMesh) return;
        const placed = each.matrix.clone();
        each.getMatrixAt(0, placed);
        size = Math.max(size, placed.getMaxScaleOnAxis());
    });
    return size;
}).filter((size) => size > 0.001)"""
SHAPES = """() => Object.entries(__viserMutable.nodeRefFromName).filter(([name, node]) => {
    if (!node || !/^.world.(shapes|topics.[0-9]+.solids).[0-9]+$/.test(name)) return false;
    for (let above = node; above; above = above.parent) if (!above.visible) return false;
    let size = 0;
    node.traverse((each) => {
        if (!each.isInstancedMesh) return;
        const placed = each.matrix.clone();
        each.getMatrixAt(0, placed);  // its `count` is of what the camera sees
        size = Math.max(size, placed.getMaxScaleOnAxis());
    });
    return size > 0.001;
}).length"""
SEEN = """(nodes) => Object.entries(__viserMutable.nodeRefFromName).filter(([name, node]) => {
    const isThere = Boolean(node) && name.startsWith(nodes);
    for (; node; node = node.parent) if (!node.visible) return false;
    return isThere;
}).map(([name]) => name)"""
LABELS = "(nodes) => Object.keys(__viserMutable.nodePoseData).filter((name) => name.startsWith(nodes + '/'))"
CASTS = "__viserMutable.scene.children.some((each) => each.isDirectionalLight && each.castShadow)"


class Panel:
    """The panel of a page, as somebody uses it.

    `run` is what it shows, `drawn` how many shapes that has, and `errors` is what its console says.
    """

    def __init__(self, page: Any, url: str, run: Session | None = None, drawn: int = BODIES) -> None:
        self.page, self.run, self.drawn, self.errors = page, run, drawn, list[str]()
        page.on("console", lambda said: self._heard(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: self._heard(str(error)))
        page.set_default_timeout(1000.0 * PATIENCE)
        # In full: without a graphics card, it would have no shadows.
        page.goto(f"{url}/?quality=full")
        page.locator("#triad button.x").wait_for()

    def _heard(self, error: str) -> None:
        # viser's page changes what a frame of it was sent about only after it has removed what that frame removes.
        if not error.startswith("Tried to update non-existent component"):
            self.errors.append(error)

    def _element(self, role: str, name: str) -> Any:
        # Tabs that are not in front have elements of the same names.
        return self.page.get_by_role(role, name=name, exact=True).locator("visible=true").first

    def tab(self, name: str) -> None:
        self._element("tab", name).click()

    def choose(self, label: str, option: str) -> None:
        self._element("combobox", label).click()
        self._element("option", option).click()

    def fill(self, label: str, text: str) -> None:
        field = self._element("textbox", label)
        field.fill(text)
        field.press("Enter")

    def tick(self, label: str) -> None:
        self._element("checkbox", label).click()

    def press(self, label: str) -> None:
        self._element("button", label).click()

    def has(self, text: str) -> bool:
        return text in self.page.locator("body").inner_text()

    def count(self, script: str, nodes: str) -> int:
        return len(self.page.evaluate(script, nodes))

    def shapes(self) -> int:
        return int(self.page.evaluate(SHAPES))

    def of_run(self, read: Callable[[Any], Any]) -> Any:
        assert self.run is not None
        simulation = self.run.simulation
        return self.run.loop.call(lambda: read(simulation))


@pytest.fixture(scope="module")
def of_run(browser_of_module: Any) -> Iterator[Panel]:
    with Session(loads(WORLD), view=0) as session:
        session.start()
        assert session.viewer is not None
        yield Panel(browser_of_module.new_page(drawn=False), session.viewer.url, session)


@pytest.fixture(scope="module")
def of_bag(browser_of_module: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Panel]:
    path = tmp_path_factory.mktemp("controls") / "run"
    with Session(loads(WORLD), record=path, real_time_factor=0.0) as session:
        session.run(2.0)
    view = BagView(path, viewer := Viewer(0, "run"), print)
    try:
        view.start()
        yield Panel(browser_of_module.new_page(drawn=False), viewer.url, drawn=BODIES + MARKS)
    finally:
        view.close()


@pytest.fixture(scope="module")
def of_graph(browser_of_module: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Panel]:
    """Of what another program publishes."""
    pytest.importorskip("rclpy", reason="no ROS 2 here")
    from sim_node.ros.live_view import LiveView

    path = tmp_path_factory.mktemp("graph") / "controls.yaml"
    path.write_text(WORLD, encoding="utf-8")
    with program(sim_node("run", path)):
        view = LiveView(viewer := Viewer(0, "live"))
        try:
            page = browser_of_module.new_page(drawn=False)
            panel = Panel(page, viewer.url, drawn=BODIES + MARKS)
            until(lambda: panel.shapes() == panel.drawn and panel.has("Images"), "the markers and the topics", 0.2)
            yield panel
        finally:
            view.close()


class Control(NamedTuple):
    """The tab that it is in, what somebody does with it, what is true then and was not before, and what comes first.

    again: whether it hides something, and is used once more, so that others find everything shown.
    """

    tab: str
    use: Callable[[Panel], object]
    done: Callable[[Panel], object]
    before: Callable[[Panel], object] = lambda panel: None
    again: bool = False


def crate(panel: Panel) -> None:
    panel.choose("Selected", "crate")


def trigger(event: str) -> Callable[[Panel], None]:
    def use(panel: Panel) -> None:
        panel.choose("Request", "trigger")
        panel.choose("Event", event)
        panel.press("Ask")

    return use


def add_plot(source: str, signal: str) -> Callable[[Panel], None]:
    def add(panel: Panel) -> None:
        panel.choose("Plot", source)
        panel.choose("Signal", signal)
        panel.press("Add plot")

    return add


plot_a_frame = add_plot("lift", "angular velocity (rad/s)")


def no_plots(panel: Panel) -> None:
    panel.press("Remove plots")
    until(lambda: panel.has("no plots yet"), "the plots to go", 0.2)


def one_plot(panel: Panel) -> None:
    no_plots(panel)
    plot_a_frame(panel)
    until(lambda: panel.has("lift: angular velocity (rad/s)"), "the plot", 0.2)


def no_crate(panel: Panel) -> None:
    crate(panel)
    if panel.shapes() == panel.drawn:
        panel.press("Hide")
    until(lambda: panel.shapes() == panel.drawn - 1, "the crate to go", 0.2)


def turn(panel: Panel) -> None:
    panel.fill("turn, rad/s", "0.3")
    until(lambda: panel.of_run(lambda run: run.vehicles["omni"].twist[2]) > 0.2, "the base to turn")


def switch(source: str, part: str) -> Control:
    """The switch of a topic, which is drawn at one node below its own whose name has this part."""

    def is_seen(panel: Panel) -> bool:
        return any(part in name for name in panel.page.evaluate(SEEN, "/world/topics/"))

    return Control("Sources", lambda on: on.tick(source), lambda on: not is_seen(on), again=True)


# What pages of all kinds have.
OF_ANY = {
    "Selected": Control(
        "Look",
        lambda on: on.choose("Selected", "crate"),
        lambda on: on.has("crate in map"),
        lambda on: on.choose("Selected", "map"),
    ),
    "Follow a selected one": Control("Look", lambda on: on.press("Follow"), lambda on: on.has("◎ crate"), crate),
    "Hide": Control("Look", lambda on: on.press("Hide"), lambda on: on.shapes() == on.drawn - 1, crate, again=True),
    "Show again": Control("Look", lambda on: on.press("Hide"), lambda on: on.shapes() == on.drawn, no_crate),
    "Hide nothing": Control(
        "Look",
        lambda on: on.press("Hide"),
        lambda on: on.has("Not done\nnothing is drawn on map alone"),
        lambda on: on.choose("Selected", "map"),
    ),
    "Plot a selected one": Control(
        "Plots", lambda on: on.press("Plot"), lambda on: on.has("crate: velocity (m/s)"), crate
    ),
    "Follow what stands": Control(
        "Look",
        lambda on: on.press("Follow"),
        lambda on: on.has("Not done\nmap does not move"),
        lambda on: on.choose("Selected", "map"),
    ),
    "Follow": Control("Look", lambda on: on.choose("Follow", "lift"), lambda on: on.has("◎ lift")),
    "Turn with it": Control(
        "Look",
        lambda on: on.tick("Turn with it"),
        lambda on: on.page.evaluate("__viserMutable.nodeRefFromName['/world'].quaternion.z") < -0.7,
        lambda on: on.choose("Follow", "crate"),
    ),
    "Names": Control("Look", lambda on: on.choose("Names", "none"), lambda on: not on.count(LABELS, "/world/names")),
    "Axes": Control("Look", lambda on: on.choose("Axes", "none"), lambda on: not on.count(SEEN, "/world/axes/")),
    "Size of axes": Control(
        "Look",
        lambda on: on.fill("Size of axes", "0.1"),
        lambda on: max(on.page.evaluate(SIZES, "/world/axes/")) < 0.1,
        lambda on: on.choose("Axes", "all"),
    ),
    "Trails": Control("Look", lambda on: on.fill("Trails", "cart"), lambda on: on.count(LABELS, "/world/trails") == 2),
    "Field of view": Control(
        "Look",
        lambda on: on.fill("Field of view (°)", "30"),
        lambda on: abs(on.page.evaluate("__viserMutable.camera.fov") - 30.0) < 1e-3,
    ),
    "Shadows": Control("Look", lambda on: on.tick("Shadows"), lambda on: not on.page.evaluate(CASTS)),
    "Dark": Control(
        "Look",
        lambda on: on.tick("Dark"),
        lambda on: on.page.locator('html[data-mantine-color-scheme="dark"]').count(),
    ),
    "Copy link": Control(
        "Look",
        lambda on: on.press("Copy link"),
        lambda on: "initialCameraPosition=" in on.page.evaluate("location.href"),
    ),
    "Add plot": Control("Plots", plot_a_frame, lambda on: on.has("lift: angular velocity (rad/s)"), no_plots),
    "Add it again": Control(
        "Plots",
        plot_a_frame,
        lambda on: on.has("Not done\nthere is a plot of angular velocity (rad/s) of lift"),
        one_plot,
    ),
    "Remove plots": Control("Plots", lambda on: on.press("Remove plots"), lambda on: on.has("no plots yet"), one_plot),
    "Target": Control("Frames", lambda on: on.choose("Target", "lift"), lambda on: on.has("in lift\n")),
    "Source": Control("Frames", lambda on: on.choose("Source", "robot"), lambda on: on.has("robot in ")),
    "Shown": Control("Frames", lambda on: on.tick("lift"), lambda on: on.shapes() == on.drawn - 1, again=True),
}
# Of a run alone.
OF_RUN = {
    **OF_ANY,
    "Mass": Control(
        "Look",
        lambda on: on.choose("Selected", "crate"),
        lambda on: on.has("mass 3 kg"),
        lambda on: on.choose("Selected", "map"),
    ),
    "Drag": Control("Look", lambda on: on.press("Drag"), lambda on: on.count(SEEN, "/world/handles"), crate),
    "Push": Control(
        "Look",
        lambda on: on.press("Push"),
        lambda on: on.of_run(lambda run: abs(run.bodies["crate"].twist[1])) > 0.5,
        crate,
    ),
    "Plans": Control("Look", lambda on: on.tick("Plans"), lambda on: not on.count(SEEN, "/world/plans/")),
    "Plot of a sensor": Control(
        "Plots", add_plot("cart/imu", "force"), lambda on: on.has("cart/imu: force (m/s²)"), no_plots
    ),
    "Shown cameras": Control(
        "Frames", lambda on: on.tick("left_optical"), lambda on: on.count(SEEN, "/world/sensors/0/") == 0
    ),
    "Topic": Control(
        "Messages", lambda on: on.choose("Topic", "/cart/mag/mag"), lambda on: on.has("sensor_msgs/msg/MagneticField")
    ),
    "Ask for an event": Control(
        "Edit", trigger("shove"), lambda on: on.of_run(lambda run: run.bodies["crate"].twist[0]) > 0.5
    ),
    "Sliders of a base": Control(
        "Drive",
        lambda on: on.fill("left, m/s", "0.4"),
        lambda on: on.of_run(lambda run: run.vehicles["omni"].twist[1]) > 0.3,
    ),
    "Slider of a joint": Control(
        "Drive",
        lambda on: on.fill("lift", "1.5"),
        lambda on: on.of_run(lambda run: run.joints["lift"].position[0]) > 1.0,
    ),
    "Stop": Control(
        "Drive",
        lambda on: on.press("Stop"),
        lambda on: on.of_run(lambda run: run.vehicles["omni"].twist[2]) == 0.0,
        turn,
    ),
    "Sensor": Control("Sensors", lambda on: on.choose("Sensor", "cart/mag"), lambda on: on.has("field_x")),
    "Camera": Control("Images", lambda on: on.choose("Camera", "cart/right"), lambda on: on.has("48 x 24 pixels")),
}
# Of topics, which a bag and the graph have.
OF_TOPICS_ALONE = {
    "Topic": Control("Messages", lambda on: on.choose("Topic", "/tf"), lambda on: on.has("child_frame_id")),
    "Camera": Control(
        "Images", lambda on: on.choose("Camera", "/cart/right/image_raw"), lambda on: on.has("48 x 24 pixels")
    ),
    "Source": Control(
        "Sources",
        lambda on: on.tick("/cart/left/image_raw"),
        lambda on: ["frustum" in each for each in on.page.evaluate(SEEN, "/world/topics/")].count(True) == 1,
    ),
    "Labels": Control("Sources", lambda on: on.tick("Labels"), lambda on: not on.count(LABELS, "/world/topics/labels")),
}
OF_TOPICS = {**OF_ANY, **OF_TOPICS_ALONE}
OF_GRAPH = {
    **OF_TOPICS,
    "Source of axes": switch("/omni/odom", "/axes"),
    "Source of markers": switch("/simulation/markers", "/solids/"),
}


def assert_does(control: Control, panel: Panel) -> None:
    panel.tab(control.tab)
    control.before(panel)
    # What came first is on its way to the page; what the control does must not be so without it.
    until(lambda: not control.done(panel), "what was before", 0.2)
    control.use(panel)
    until(lambda: control.done(panel), "what it does", 0.2)
    if control.again:
        control.use(panel)
        until(lambda: not control.done(panel), "what was before, again", 0.2)
    assert panel.errors == []


# Controls that are used another time, or that have nothing to do.
REFUSED_OR_AGAIN = {"Hide nothing", "Show again", "Follow what stands", "Follow a selected one", "Add it again"}


# A control that pages of all kinds have is the same code on each: make test uses it on the page of a run.
@pytest.mark.parametrize("name", rows(OF_RUN, OF_RUN.keys() - REFUSED_OR_AGAIN))
def test_a_control_of_a_run_does_what_it_says(of_run: Panel, name: str) -> None:
    assert_does(OF_RUN[name], of_run)


@pytest.mark.parametrize("name", rows(OF_GRAPH, OF_GRAPH.keys() - (OF_ANY.keys() - OF_TOPICS_ALONE.keys())))
def test_a_control_of_the_graph_does_what_it_says(of_graph: Panel, name: str) -> None:
    assert_does(OF_GRAPH[name], of_graph)


# Those of its topics make test uses on the page of the graph; test_viewer.py opens the page of a bag.
@pytest.mark.parametrize("name", rows(OF_TOPICS, ()))
def test_a_control_of_a_bag_does_what_it_says(of_bag: Panel, name: str) -> None:
    assert_does(OF_TOPICS[name], of_bag)


# Of the row of tabs: how many rows there are, how many tabs, and whether one is seen whole.
ROW = """(name) => {
    const row = document.querySelector('[role="tablist"]'), all = row.getBoundingClientRect();
    const tabs = [...row.querySelectorAll('[role="tab"]')], boxes = tabs.map((each) => each.getBoundingClientRect());
    const { left, right } = boxes[tabs.findIndex((each) => each.textContent.trim() === name)];
    return [new Set(boxes.map((each) => each.top)).size, tabs.length, left >= all.left && right <= all.right];
}"""


# How the tabs look: make test clicks each of them, above.
@pytest.mark.nightly
def test_tabs_are_one_row_and_the_one_in_front_is_seen(of_run: Panel) -> None:
    of_run.tab("Images")
    until(lambda: of_run.page.evaluate(ROW, "Images") == [1, 8, True], "the last tab", 0.2)
    assert of_run.page.evaluate(ROW, "Look") == [1, 8, False], "there is no room for all"
    of_run._element("tab", "Images").hover()
    of_run.page.mouse.wheel(0, -500)
    until(lambda: of_run.page.evaluate(ROW, "Look") == [1, 8, True], "the first tab", 0.2)
    of_run.tab("Look")


# make test opens panels of a smaller world, which is in test_schematic_pages.py.
@pytest.mark.nightly
def test_panels_beside_the_scene_come_without_an_error(browser: Any) -> None:
    with Session("quadrotor", view=0, paused=True) as session:
        session.start()
        assert session.viewer is not None
        panel = Panel(browser.new_page(drawn=False), session.viewer.url)
        panel.press("Panels")
        panel.page.locator("iframe").wait_for()
        panel.page.wait_for_load_state("networkidle")
        assert panel.errors == []


# make test opens a page that is narrow from the start, in test_viewer.py.
@pytest.mark.nightly
def test_the_panel_of_a_page_that_becomes_narrow_is_folded(of_run: Panel, browser: Any) -> None:
    """viser has another one there, which would cover what a view among panels is about."""
    page = browser.new_page(drawn=False, viewport={"width": 1000, "height": 700})
    page.set_default_timeout(1000.0 * PATIENCE)
    page.goto(of_run.page.url.partition("?")[0])
    page.get_by_role("tab", name="Look").wait_for()
    page.set_viewport_size({"width": 500, "height": 700})
    page.locator('.mantine-Paper-root[style*="position: fixed"]').wait_for()
    page.get_by_role("tab", name="Look").wait_for(state="hidden")
