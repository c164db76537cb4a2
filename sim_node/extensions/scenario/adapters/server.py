"""Serves one run to another program, a line of JSON for each request on stdin and its answer on stdout.

python -m sim_node.extensions.scenario.adapters.server. `client.SteppedRun` is the other end.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

from sim_node.extensions.scenario.fixture import SimRun
from sim_node.extensions.scenario.sampling import RunSignals, SignalCondition
from sim_node.extensions.scenario.timetable import FAILURES, reason_of, surroundings_of
from sim_node.spatial.geometry import poses, quaternions
from sim_node.world import load

_AXES = ("x", "y", "z")


class StepServer:
    """A run that another program steps. Its public methods are the requests."""

    def __init__(self) -> None:
        self._run: SimRun | None = None
        self._conditions: dict[str, SignalCondition] = {}
        self._tick_ns = 0

    def open(self, world: str, seed: int = 0, values: Mapping[str, float] | None = None, sensors: bool = True) -> float:
        """Start a run, in place of the one before. Return the world's step, s."""
        self.close()
        found = load(world)
        self._run = SimRun(found.with_values(values) if values else found, seed, sensors=sensors)
        return self._run.simulation.world.time.step_ns * 1e-9

    def close(self) -> None:
        """End the run."""
        if self._run is not None:
            self._run.close()
        self._run, self._conditions = None, {}

    def step(self, seconds: float) -> float:
        """Let simulated time go on. Return the time since the start, s."""
        self._tick_ns = round(seconds * 1e9)
        return self._opened.run(seconds).time

    def read(self, signals: Sequence[str]) -> list[float | None]:
        """Return signals now; None for what is not finite."""
        run = self._opened
        found = RunSignals(run.simulation, signals, run.zones)
        try:
            now = found.now()
        finally:
            found.close()
        return [float(now[name][0]) if math.isfinite(now[name][0]) else None for name in signals]

    def holds(self, formula: str) -> bool:
        """Return whether a formula holds now, as far as is known. Call it after each step, which all take as long."""
        run = self._opened
        if formula not in self._conditions:
            self._conditions[formula] = SignalCondition(run.simulation, formula, self._tick_ns, run.zones)
        return self._conditions[formula].evaluate()

    def ask(self, action: str, arguments: Mapping[str, Any]) -> str:
        """Do an action, and return what it did."""
        run = self._opened
        context = surroundings_of(run.simulation).context if run.session is None else run.session.requests
        done = context.ask(action, **arguments)
        return done if isinstance(done, str) else json.dumps(done)

    def state(self, frame: str) -> dict[str, list[float]]:
        """Return the pose of a frame in the fixed frame, [x y z qx qy qz qw], and its twist there, m/s and rad/s."""
        simulation = self._opened.simulation
        frames, snapshot = simulation.frames, simulation.present()
        row = frames.index(frame)
        twist = simulation.motion()[0][row]
        pose = snapshot.poses[row]
        while (row := int(frames.parents[row])) > 0:
            pose = poses.compose(snapshot.poses[row], pose)
        turned = [quaternions.rotate(pose[3:], twist[part]) for part in (slice(0, 3), slice(3, 6))]
        return {"pose": pose.tolist(), "twist": [*turned[0].tolist(), *turned[1].tolist()]}

    def verdict(self) -> dict[str, Any]:
        """Return the verdict of the world's expectations on the run so far, and the reason."""
        found = self._opened.verdict
        robust = found.robustness
        return {
            "verdict": found.verdict,
            "reason": found.reason,
            "robustness": robust if math.isfinite(robust) else None,
        }

    @property
    def _opened(self) -> SimRun:
        if self._run is None:
            raise ValueError("no run is open")
        return self._run


REQUESTS = ("open", "close", "step", "read", "holds", "ask", "state", "verdict")


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests until there are no more.

    Args:
        requests: Lines [NAME, ARGUMENT...] in JSON.
        answers: Gets a line for each, {"value": ...} or {"error": ...}.
    """
    server = StepServer()
    try:
        for line in requests:
            try:
                name, *arguments = json.loads(line)
                if name not in REQUESTS:
                    raise ValueError(f"no request {name!r} (known: {', '.join(REQUESTS)})")
                answer = {"value": getattr(server, name)(*arguments)}
            except (*FAILURES, AssertionError) as error:
                answer = {"error": reason_of(error) or type(error).__name__}
            answers.write(json.dumps(answer).encode() + b"\n")
            answers.flush()
    finally:
        server.close()


if __name__ == "__main__":
    # What anything prints goes to stderr: stdout has answers alone.
    own = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(sys.stdin.buffer, own)
