"""Data for panels other than graphs and viewports, for the page's script: numbers, attitudes, frames, images."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from sim_node.spatial.frames import Frame, convert_position
from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import did_you_mean, shown
from sim_node.viewing.browser.images_tab import ImagesTab
from sim_node.viewing.browser.messages_tab import MessagesTab
from sim_node.viewing.browser.panel import depths_of, without_noise
from sim_node.viewing.schematic import FormulaSignal, UnknownName, bound
from sim_node.viewing.schematic.binding import axes_of, problem_of
from sim_node.viewing.schematic.eql import IndexNode
from sim_node.viewing.schematic.formulas import ANGULAR, LINEAR, POSE_LABELS
from sim_node.viewing.schematic.model import ENU, DataPanel
from sim_node.viewing.shown_signals import WORLD_POS, WORLD_VEL, ShownSignals, unit_of
from sim_node.world import FrameTable, World
from sim_node.world.problems import counted
from sim_node.world.values import numbers_of

# Maximum number of names in lists.
MAX_NAMES = 400
# Attitude of FLU in FRD: a half turn about x.
_FRD = np.array([1.0, 0.0, 0.0, 0.0])


class FeedContext(NamedTuple):
    """The data that feeds read.

    Attributes:
        signals: The signals that formulas may refer to.
        frames: The frames.
        world: The world of a run, or None.
        selected: Returns the selected frame, or an empty string.
        images: Returns the tab of camera images, or None.
        messages: Returns the tab of a topic's messages, or None.
        shown: The world of a run or bag whose parameters are shown, or None.
        can_set: Whether its parameters can be changed.
    """

    signals: ShownSignals
    frames: FrameTable
    world: World | None
    selected: Callable[[], str]
    images: Callable[[], ImagesTab | None]
    messages: Callable[[], MessagesTab | None] = lambda: None
    shown: World | None = None
    can_set: bool = False


Feed = Callable[[], Any]


def _signal(panel: DataPanel, context: FeedContext, *counts: int) -> FormulaSignal:
    """Return the signal of a panel. Raises WorldError for an unknown name or an unexpected number of values."""
    formula = panel.formula
    assert formula is not None
    try:
        signal = bound(formula, context.signals)
        if counts and len(signal.labels) not in counts:
            needed = " or ".join(map(str, counts))
            raise UnknownName(f"{shown(formula.text)} is {counted(len(signal.labels), 'number')}; {needed} are needed")
    except UnknownName as error:
        raise problem_of(formula, panel.kind, error) from None
    return signal


def _monitor(panel: DataPanel, context: FeedContext) -> Feed:
    signal = _signal(panel, context)
    assert panel.formula is not None
    tree = panel.formula.tree
    indexed = (IndexNode(tree, number) for number in range(len(signal.labels)))
    of_sensors = context.signals.units
    units = [unit_of(tree, of_sensors) or unit_of(each, of_sensors) for each in indexed]

    def now() -> Any:
        values = without_noise(signal.read())
        return [[label, _number(value), unit] for label, value, unit in zip(signal.labels, values, units, strict=True)]

    return now


def _position(panel: DataPanel, context: FeedContext) -> Feed:
    signal, about = _signal(panel, context, 3, 7), context.signals.origin
    names, units = {
        "ENU": (("east", "north", "up"), ("m", "m", "m")),
        "NED": (("north", "east", "down"), ("m", "m", "m")),
        "ECEF": (("x", "y", "z"), ("m", "m", "m")),
        "LLA": (("latitude", "longitude", "altitude"), ("°", "°", "m")),
    }[panel.display]
    if about is None and (panel.display in ("ECEF", "LLA")) != (panel.source == "ECEF"):
        needing = panel.display if panel.source == ENU else f"{panel.source} as {panel.display}"
        return lambda: {"empty": f"{needing} needs the origin of the world on Earth, which has none."}

    def now() -> Any:
        place = np.array(signal.read()[LINEAR] if len(signal.labels) == 7 else signal.read())
        found = without_noise(convert_position(place, Frame[panel.source], Frame[panel.display], about))
        return [[name, _number(each), unit] for name, each, unit in zip(names, found, units, strict=True)]

    return now


def _attitude(panel: DataPanel, context: FeedContext) -> Callable[[], FloatArray]:
    """Return a function that computes the attitude of a gauge in ENU, relative to its neutral attitude."""
    signal, reference = _signal(panel, context, 4, 7), np.array(panel.reference)
    source = axes_of(panel.source, context.signals)[3:]

    def now() -> FloatArray:
        turn = np.array(signal.read()[ANGULAR], dtype=np.float64)
        length = float(np.linalg.norm(turn))
        turn = turn / length if length > 0.0 else np.array([0.0, 0.0, 0.0, 1.0])
        seen = quaternions.multiply(turn, quaternions.conjugate(quaternions.normalise(reference)))
        return np.asarray(seen if panel.source == ENU else quaternions.multiply(source, seen))

    return now


def _orientation(panel: DataPanel, context: FeedContext) -> Feed:
    attitude = _attitude(panel, context)
    # The displayed axes, in ENU.
    axes = _rounded(np.round(quaternions.to_matrix(axes_of(panel.display, context.signals)[3:]).T, 9))
    names = list("XYZ" if panel.display == "ECEF" else panel.display)

    def now() -> Any:
        turn = attitude()
        body = quaternions.to_matrix(turn) if np.isfinite(turn).all() else np.full((3, 3), np.nan)
        return {"body": _rounded(body.T), "axes": axes, "names": names}

    return now


def _horizon(panel: DataPanel, context: FeedContext) -> Feed:
    attitude = _attitude(panel, context)

    def now() -> Any:
        # Of the body (FLU) in ENU, with the nose up at a negative pitch. Bodies in NED are FRD.
        turn = attitude() if panel.source != "NED" else quaternions.multiply(attitude(), _FRD)
        roll, pitch, yaw = np.degrees(quaternions.to_rpy(turn))
        return {"roll": _number(roll), "pitch": _number(-pitch), "heading": _number((90.0 - yaw) % 360.0)}

    return now


def _hierarchy(panel: DataPanel, context: FeedContext) -> Feed:
    frames = context.frames
    rows = list(zip(frames.names, depths_of(frames), (~frames.still).tolist(), strict=True))[:MAX_NAMES]
    more = len(frames) - len(rows)
    return lambda: {"frames": rows, "selected": context.selected(), "more": more}


def _inspector(panel: DataPanel, context: FeedContext) -> Feed:
    frames = context.frames

    def now() -> Any:
        name = context.selected()
        if name not in frames.names:
            return {"empty": "Nothing is selected: click a body in a scene, or a frame in a panel of frames."}
        row = frames.index(name)
        found = [context.signals.find(f"{name}.{kind}") for kind in (WORLD_POS, WORLD_VEL)]
        pose, moves = (without_noise(each.read()) for each in found if each is not None)
        rpy = np.degrees(quaternions.to_rpy(pose[ANGULAR])) if np.isfinite(pose).all() else np.full(3, np.nan)
        parent = frames.parents[row]
        return {
            "name": name,
            "about": f"on {frames.names[parent]}" if parent >= 0 else "the fixed frame",
            "rows": [
                *([label, _number(value), "m"] for label, value in zip("xyz", pose[LINEAR], strict=True)),
                *([label, _number(value), "°"] for label, value in zip(("roll", "pitch", "yaw"), rpy, strict=True)),
                *([label, _number(value), ""] for label, value in zip(POSE_LABELS[:4], pose[ANGULAR], strict=True)),
                *([f"v{label}", _number(value), "m/s"] for label, value in zip("xyz", moves[3:], strict=True)),
                *([f"ω{label}", _number(value), "rad/s"] for label, value in zip("xyz", moves[:3], strict=True)),
            ],
        }

    return now


def _overview(panel: DataPanel, context: FeedContext) -> Feed:
    names = sorted(context.signals.names())
    return lambda: {"signals": names[:MAX_NAMES], "more": max(len(names) - MAX_NAMES, 0)}


def _image(panel: DataPanel, context: FeedContext) -> Feed:
    """Create the feed of a camera of a run or an image topic: `drone.scene_cam`, `drone/scene_cam`, `/drone/image`."""
    wanted = {panel.of, panel.of.replace(".", "/"), f"/{panel.of}"}
    state: dict[str, Any] = {"at": None, "url": ""}

    def now() -> Any:
        images = context.images()
        cameras = () if images is None else images.camera.options
        name = next((each for each in cameras if each in wanted), None)
        if images is None or name is None:
            near = did_you_mean(panel.of, cameras) or (f" (known: {', '.join(cameras)})" if cameras else "")
            return {"empty": f"There is no camera {panel.of}{near}."}
        pixels, about, at = images.newest(name)
        if pixels is None:
            return {"empty": f"No image of {name} yet."}
        if at != state["at"]:
            written = io.BytesIO()
            Image.fromarray(pixels).save(written, "JPEG", quality=80)
            state.update(at=at, url=f"data:image/jpeg;base64,{base64.b64encode(written.getvalue()).decode()}")
        return {"image": state["url"], "about": about, "name": name}

    return now


def _messages(panel: DataPanel, context: FeedContext) -> Feed:
    """Create the feed of the selected topic's newest message. The selection is shared by all pages and the tab."""

    def now() -> Any:
        tab = context.messages()
        if tab is None:
            return {"empty": "There are no topics here."}
        return {"topics": list(tab.topic.options), "topic": tab.topic.value, "text": tab.text}

    return now


def _parameters(panel: DataPanel, context: FeedContext) -> Feed:
    if context.shown is None:
        return lambda: {"empty": "Numbers of a world are shown here, of a run or of a bag that has it."}
    every = numbers_of(context.shown)
    rows = [[path, float(value)] for path, value in every.items()]
    return lambda: {"numbers": rows, "can_set": context.can_set}


# By panel kind: a function that creates the feed, which returns the current data for JSON. The page's script handles
# the other kinds.
FEEDS: dict[str, Callable[[DataPanel, FeedContext], Feed]] = {
    "component_monitor": _monitor,
    "geo_position_gauge": _position,
    "orientation_gauge": _orientation,
    "horizon_gauge": _horizon,
    "hierarchy": _hierarchy,
    "inspector": _inspector,
    "data_overview": _overview,
    "messages": _messages,
    "parameters": _parameters,
    "sensor_view": _image,
    "video_stream": _image,
}


def feed_of(panel: DataPanel, context: FeedContext) -> Feed | None:
    """Return the feed of a panel; None for panels that the page's script handles itself.

    Raises:
        WorldError: Its formula contains an unknown name.
    """
    return FEEDS[panel.kind](panel, context) if panel.kind in FEEDS else None


def _number(value: Any) -> float | None:
    return float(f"{value:.7g}") + 0.0 if np.isfinite(value) else None


def _rounded(values: FloatArray) -> list[list[float | None]]:
    return [[_number(each) for each in row] for row in without_noise(values)]
