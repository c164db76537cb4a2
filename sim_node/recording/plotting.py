"""Series as a picture, one panel of each unit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from sim_node.recording.bag import BagError
from sim_node.recording.series import Series, Signal, thinned

# Samples of a line: four of each of its pixels, about.
_MOST = 8000
_SIZE_INCHES = (11.0, 3.0)
_DOTS_PER_INCH = 110

# Units of the fields of REP 103 messages (SI), by the end of their paths; the first that fits.
_UNITS = (
    (r"(linear_acceleration|accel\.linear)\.[xyz]", "m/s²"),
    (r"(angular_acceleration|accel\.angular)\.[xyz]", "rad/s²"),
    (r"(angular_velocity|angular|twist\.angular)\.[xyz]", "rad/s"),
    (r"(linear|velocity)\.[xyz]", "m/s"),
    (r"(position|translation|point|points\[\d+\])\.[xyz]", "m"),
    (r"(orientation|rotation)\.[xyzw]", "quaternion"),
    (r"magnetic_field\.[xyz]", "T"),
    (r"force\.[xyz]", "N"),
    (r"torque\.[xyz]", "N m"),
    (r"(latitude|longitude)", "deg"),
    (r"altitude", "m"),
    (r"fluid_pressure", "Pa"),
    (r"temperature", "°C"),
    (r"(range|ranges\[\d+\]|min_range|max_range)", "m"),
    (r"(sec|clock\.sec)", "s"),
    (r"nanosec", "ns"),
    (r"voltage", "V"),
    (r"current", "A"),
)


def unit(signal: Signal) -> str:
    """The unit of a field whose name says it; empty where it is not known."""
    return next((name for pattern, name in _UNITS if re.search(rf"(^|\.){pattern}$", signal.field)), "")


def draw(series: Sequence[Series], zero_s: float, path: Path) -> None:
    """Writes a picture; its kind is that of the path's suffix. zero_s: where the time axis begins.

    Raises BagError where it cannot be written.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    panels: dict[str, list[Series]] = {}
    for each in series:
        panels.setdefault(unit(each.signal), []).append(each)
    width, height = _SIZE_INCHES
    figure, axes = pyplot.subplots(
        len(panels), figsize=(width, 0.6 + height * len(panels)), sharex=True, squeeze=False, layout="constrained"
    )
    try:
        for (name, members), axis in zip(panels.items(), axes[:, 0], strict=True):
            for each in members:
                times, values = thinned(each.times_s, each.values, _MOST)
                marker = "." if len(times) < 60 else ""
                axis.plot(times - zero_s, values, linewidth=1.2, marker=marker, label=str(each.signal))
            axis.set_ylabel(f"[{name}]" if name else "")
            axis.grid(alpha=0.3)
            axis.margins(x=0.01)
            axis.ticklabel_format(axis="y", useOffset=False)
            axis.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, fontsize="small", frameon=False)
        axes[-1, 0].set_xlabel("time after the bag's first message [s]")
        figure.savefig(path, dpi=_DOTS_PER_INCH)
    except ValueError as error:
        raise BagError(f"{path}: {error}") from None
    except OSError as error:
        raise BagError(f"{path}: cannot be written: {error.strerror}") from None
    finally:
        pyplot.close(figure)
