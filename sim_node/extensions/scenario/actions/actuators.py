"""Actuators of joints: failures, and motions of joints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from sim_node.extensions.scenario.acting import Seconds, action, begin, lasting, vehicle_of
from sim_node.extensions.scenario.effects import Effect, Lasting, effect
from sim_node.simulation import Simulation
from sim_node.simulation.requests import Floats, VehicleName, Words
from sim_node.world.quantities import Number

if TYPE_CHECKING:
    import mujoco


@effect("servo")
class _Servo(Effect):
    """An actuator of a joint that fails: its force is multiplied by a factor, or it keeps its target."""

    def apply(self, run: Simulation, lasting: Lasting) -> None:
        """Set what is left of it at the next step."""
        kind = lasting.arguments["type"]
        if kind == "stuck":
            record: Any = run.joints[lasting.of]
            held = lasting.arguments.setdefault("held", {})  # type: ignore[attr-defined]  # what it is stuck at
            if not held:
                held.update(record.targets)
            record.set_targets(**held)
            return
        self._scale(run, lasting.of, 0.0 if kind == "off" else lasting.arguments["gain"])

    def end(self, run: Simulation, lasting: Lasting) -> None:
        """Let it be sound."""
        if lasting.arguments["type"] != "stuck":
            self._scale(run, lasting.of, 1.0)

    def _scale(self, run: Simulation, joint: str, factor: float) -> None:
        from sim_node.simulation.physics.drives import name_of  # here: it imports MuJoCo

        model: mujoco.MjModel = getattr(run.engines["rigid_bodies"], "model")  # noqa: B009
        sound = run.beside.setdefault("sound actuators", {})
        assert isinstance(sound, dict)
        for actuator in (each for each in run.world.actuators if each.joint == joint):
            if actuator.implicit:
                raise ValueError(f"the actuator of {joint!r} has a commanded force, and cannot fail")
            index = model.actuator(name_of(actuator)).id
            key = id(model), index
            gain, bias = sound.setdefault(
                key, (model.actuator_gainprm[index].copy(), model.actuator_biasprm[index].copy())
            )
            model.actuator_gainprm[index], model.actuator_biasprm[index] = factor * gain, factor * bias


@effect("joints")
class _Joints(Effect):
    """Targets of joints that go to their goals along a cubic, which begins and ends at rest."""

    def apply(self, run: Simulation, lasting: Lasting) -> None:
        """Set the targets of the end of the next step."""
        seconds = (run.steps + 1 - lasting.since) * run.world.time.step_ns * 1e-9
        part = min(seconds / lasting.arguments["length"], 1.0)
        done = part * part * (3.0 - 2.0 * part)
        for joint, (start, goal) in lasting.arguments["paths"].items():
            run.joints[joint].set_targets(position=start + done * (goal - start))


@action("joints")
def joints(run: Simulation, /, goals: Words, *, seconds: Annotated[float, Number(above=0.0, high=1e6)] = 1.0) -> str:
    """Let position actuators of a running node move joints to positions, along a cubic from their present targets.

    Args:
        run: The run.
        goals: JOINT=VALUE (m or rad).
        seconds: The time that it takes, s.
    """
    found: dict[str, float] = {}
    for word in goals:
        name, equals, number = word.rpartition("=")
        if not equals:
            raise ValueError(f"{word!r} is not JOINT=VALUE")
        found[name] = float(number)
    paths = {name: (run.joints[name].targets.get("position"), goal) for name, goal in found.items()}
    if lacking := [name for name, (start, _) in paths.items() if start is None]:
        raise ValueError(f"no position actuator moves {', '.join(lacking)}")
    begin(run, "joints", " ".join(found), seconds, length=seconds, paths=paths)
    return f"{', '.join(goals)} in {seconds:g} s"


@effect("drive")
class _Drive(Effect):
    """A velocity that is sent to a vehicle repeatedly."""

    def apply(self, run: Simulation, lasting: Lasting) -> None:
        """Send it, until after the next step."""
        x, y, z, turn = lasting.arguments["velocity"]
        step = 1.5e-9 * run.world.time.step_ns
        run.vehicles[lasting.of].cmd_vel(x, y, turn, linear_z=z, timeout=max(step, 0.01))

    def end(self, run: Simulation, lasting: Lasting) -> None:
        """Let it stand."""
        run.vehicles[lasting.of].cmd_vel(0.0, 0.0, 0.0, timeout=0.01)


@action("drive")
def drive(
    run: Simulation,
    /,
    velocity: Annotated[list[float], Floats((4,), "AHEAD,LEFT,UP,TURN in m/s and rad/s")],
    *,
    of: VehicleName = "",
    seconds: Seconds = 0.0,
) -> str:
    """Let a base, or a multirotor that a pilot flies, move at a velocity along its heading, in a running node.

    Args:
        run: The run.
        velocity: The velocity.
        of: The vehicle (default: the only one).
        seconds: How long, s; 0 for as long as the run goes on.
    """
    vehicle = vehicle_of(run, of)
    begin(run, "drive", vehicle, seconds, velocity=velocity)
    return f"{vehicle} moves at {' '.join(f'{each:g}' for each in velocity)}{lasting(seconds)}"
