"""Compiled access to the history of a frame: its ring of transforms, the search for a stamp, interpolation."""

# mypy: allow-untyped-defs, allow-untyped-calls, disable-error-code="untyped-decorator"
# numba infers the types, except for those of the entry points.

from __future__ import annotations

import math
from typing import Any

from numba import carray, types
from numba.extending import intrinsic
from numba.np.numpy_support import from_dtype

from sim_node.spatial.geometry.kernel import kernel
from sim_node.spatial.tree import layout

_ENTRY_TYPE = from_dtype(layout.ENTRY)


@kernel()
def _interpolate(a, b, u):
    """Interpolate positions linearly and orientations by slerp; see sim_node.spatial.geometry.interpolation.slerp."""
    dot = a.qx * b.qx + a.qy * b.qy + a.qz * b.qz + a.qw * b.qw
    cosine = min(abs(dot), 1.0)
    rest = 1.0 - u
    defect = 1.0 - cosine
    if defect < 1e-2:
        # sin(u angle) / sin(angle) as a series in 1 - cos(angle): Eberly, A fast and accurate algorithm for
        # computing SLERP, 2011. Under 0.14 rad the first term left out is below 1e-17.
        weight_a, weight_b = _sine_ratio(rest, defect), _sine_ratio(u, defect)
    else:
        angle = math.acos(cosine)
        sine = math.sqrt((1.0 - cosine) * (1.0 + cosine))
        weight_a, weight_b = math.sin(rest * angle) / sine, math.sin(u * angle) / sine
    if dot < 0.0:
        weight_b = -weight_b
    return (
        a.x + u * (b.x - a.x),
        a.y + u * (b.y - a.y),
        a.z + u * (b.z - a.z),
        weight_a * a.qx + weight_b * b.qx,
        weight_a * a.qy + weight_b * b.qy,
        weight_a * a.qz + weight_b * b.qz,
        weight_a * a.qw + weight_b * b.qw,
    )


@kernel()
def _sine_ratio(u, defect):
    # Term n over term n - 1 is (n^2 - u^2) / (n (2 n + 1)) * defect.
    square = u * u
    total = term = u
    for n in range(1, 8):
        term *= (n * n - square) / (n * (2 * n + 1)) * defect
        total += term
    return total


@kernel()
def pose_of(entry):
    """Return the pose of an entry."""
    return entry.x, entry.y, entry.z, entry.qx, entry.qy, entry.qz, entry.qw


@intrinsic
def _entries_at(typing_context: Any, address: Any) -> Any:
    pointer = types.CPointer(_ENTRY_TYPE)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(pointer))

    return pointer(types.int64), generate


@kernel()
def ring_of(frame):
    """Return the entries of a frame in memory order, which may start anywhere in the history."""
    return carray(_entries_at(frame.ring), (frame.capacity,))


@kernel()
def slot_of(frame, i):
    """Return the index in the ring of entry i, counted from the oldest."""
    slot = frame.first + i
    return slot - frame.capacity if slot >= frame.capacity else slot


@kernel()
def locate(frame, ring, stamp):
    """Return the index of the last entry stamped at or before `stamp`, for oldest <= stamp < newest.

    Entries mostly have an even rate. The search starts where an even rate would put the stamp and widens in doubling
    steps: usually two or three entries are read, in the worst case a logarithm of their number.
    """
    last = frame.count - 1
    guess = int((stamp - frame.oldest) / (frame.newest - frame.oldest) * last)
    guess = min(max(guess, 0), last - 1)
    step = 1
    if ring[slot_of(frame, guess)].stamp <= stamp:
        low, high = guess, guess + 1
        while high < last and ring[slot_of(frame, high)].stamp <= stamp:
            low = high
            high += step
            step += step
        high = min(high, last)
    else:
        low, high = guess - 1, guess
        while low > 0 and ring[slot_of(frame, low)].stamp > stamp:
            high = low
            low -= step
            step += step
        low = max(low, 0)
    while high - low > 1:
        middle = (low + high) >> 1
        if ring[slot_of(frame, middle)].stamp <= stamp:
            low = middle
        else:
            high = middle
    return low


@kernel()
def edge_of(frame, stamp, tolerance):
    """Return (status, pose of the frame in its parent at `stamp`)."""
    ring = ring_of(frame)
    if frame.kind >= layout.STATIC:
        return layout.FOUND, pose_of(ring[0])
    if stamp >= frame.newest:
        newest = pose_of(ring[slot_of(frame, frame.count - 1)])
        if stamp == frame.newest:
            return layout.FOUND, newest
        return (layout.HELD if stamp - frame.newest <= tolerance else layout.FUTURE), newest
    if stamp < frame.oldest:
        return (layout.HELD if frame.oldest - stamp <= tolerance else layout.PAST), pose_of(ring[frame.first])
    i = locate(frame, ring, stamp)
    before, after = ring[slot_of(frame, i)], ring[slot_of(frame, i + 1)]
    if before.stamp == stamp or before.parent != after.parent:
        return layout.FOUND, pose_of(before)
    return layout.FOUND, _interpolate(before, after, (stamp - before.stamp) / (after.stamp - before.stamp))
