"""The compiled loop over the rows of loop closures."""

# mypy: allow-untyped-defs, allow-untyped-calls
# The types are numba's.

from __future__ import annotations

import math

from sim_node.spatial.geometry.kernel import kernel

# The largest acceleration along a constraint that is taken away beforehand, m/s^2 or rad/s^2.
MOST = 1e4


@kernel(nogil=True)
def close_loops(first, share, drift, timestep, time, count, ids, errors, rates, references):
    """Write the reference accelerations of equality constraints that are loop closures; see `LoopDrift`.

    Args:
        first: The first row of `drift` of each equality constraint, or -1.
        share: Of an error, what is brought back to zero within a timestep, of each equality constraint.
        drift: Added last, added before, taken away and the time of that (R, 4).
        timestep: s.
        time: s.
        count: Number of rows of equality constraints, which MuJoCo has first.
        ids: efc_id.
        errors: efc_pos.
        rates: efc_vel.
        references: efc_aref.
    """
    of, k = -1, 0
    most = 0.5 * MOST * timestep * timestep
    for row in range(count):
        k = k + 1 if ids[row] == of else 0
        of = ids[row]
        if first[of] < 0:
            continue
        at = first[of] + k
        # The same state may be evaluated several times.
        if drift[at, 3] != time:
            follows = abs(time - drift[at, 3] - timestep) < 0.5 * timestep
            drift[at, 1] = drift[at, 0] if follows else math.nan
            drift[at, 0] = errors[row] + drift[at, 2] if follows else math.nan
            expected = drift[at, 0]
            if not math.isnan(drift[at, 1]):
                expected += drift[at, 0] - drift[at, 1]
            ahead = 0.0 if math.isnan(expected) else min(max(expected, -most), most)
            drift[at, 2] = ahead - (1.0 - share[of]) * errors[row]
            drift[at, 3] = time
        references[row] = -rates[row] / timestep - (errors[row] + drift[at, 2]) / timestep**2
