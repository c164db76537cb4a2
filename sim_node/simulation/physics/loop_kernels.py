"""The compiled loop over the rows of loop closures."""

# mypy: allow-untyped-defs, allow-untyped-calls
# The types are numba's.

from __future__ import annotations

import math

from sim_node.spatial.geometry.kernel import kernel

# Maximum acceleration along a constraint that is compensated in advance, m/s^2 or rad/s^2.
MOST = 1e4


@kernel(nogil=True)
def close_loops(first, share, drift, timestep, time, count, ids, errors, rates, references):
    """Write the reference accelerations of equality constraints that are loop closures; see `LoopDrift`.

    Args:
        first: First row in `drift` of each equality constraint, or -1 if it is not a loop closure.
        share: Fraction of the error that is corrected within a timestep, for each equality constraint.
        drift: Memory (R, 4): error added in the last timestep, error added in the one before, compensation, and the
            time for which it was computed.
        timestep: Timestep, s.
        time: Current time, s.
        count: Number of rows of equality constraints, which come first in MuJoCo's rows.
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
        # Update the memory only once: the same state may be evaluated several times.
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
