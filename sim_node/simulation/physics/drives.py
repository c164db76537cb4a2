"""Drives whose force limits and engagement can change in a run: implicit actuators, and named effort actuators."""

from __future__ import annotations

import math
import warnings

import mujoco
import numpy as np

from sim_node.simulation.columns import Column, Columns
from sim_node.simulation.physics import drive_kernels as kernels
from sim_node.simulation.physics.joint_motion import MIN_MOBILITY, terms_of
from sim_node.simulation.physics.loop_closures import has_sliders
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.bodies import moving_surfaces
from sim_node.world.joint_motion import RIGID, Actuator, Stop
from sim_node.world.model import World
from sim_node.world.problems import Problem, WorldWarning, shown_key

# Names of actuators in MuJoCo and of their rows in columns, by type.
NAMES = {"position": "{}#actuator", "velocity": "{}#velocity", "effort": "{}#effort"}
TYPES = {name.rpartition("#")[2]: kind for kind, name in NAMES.items()}
# Columns with a row for each drive, named after its actuator.
LIMITS, ENGAGED, ENGAGEMENT = "drive_limits", "drive_engaged", "drive_engagement"
ANCHOR, FORCE = "drive_anchor", "drive_force"
# If the angular frequency of a spring times the timestep is below this, its force is evaluated at the current position,
# which conserves its energy; the force of stiffer springs is evaluated at the end of the timestep.
MAX_PHASE = 0.5
_FRICTION = int(mujoco.mjtConstraint.mjCNSTR_FRICTION_TENDON)
# Maximum evaluations in the solver's line search, which needs three to halve its bracket. The interval between the
# limits of a drive with the largest gain is 1 / MOST of what its force accelerates: with MuJoCo's default of 50, the
# search can miss it and leave the force at the wrong limit.
LINE_SEARCH = 200


def integrator_of(world: World) -> str:
    """Return the integrator that a world is simulated with.

    What `excludes_rk4` names does so, since the stages of rk4 have constraint rows of their own. Sliders exclude the
    implicit integrators: these sum all forces again and divide by the nearly zero mass of the slider, which amplifies
    rounding errors.
    """
    found = world.physics.integrator
    if found == "rk4" and excludes_rk4(world):
        found = "implicitfast"
    return "euler" if found in ("implicit", "implicitfast") and has_sliders(world) else found


def excludes_rk4(world: World) -> list[str]:
    """Return what in a world is found by the solver once in each timestep, so that rk4 cannot integrate it."""
    drives = ["implicit actuators"] if any(each.implicit for each in world.actuators) else []
    surfaces = ["moving surfaces"] if any(moving_surfaces(world)) else []
    return [*drives, *surfaces, *sorted({force.type for force in world.forces if force.solved})]


def name_of(actuator: Actuator) -> str:
    """Return the name of an actuator in MuJoCo and of its rows in columns."""
    return NAMES[actuator.type].format(actuator.name or actuator.joint)


def add_drive(spec: mujoco.MjSpec, world: World, actuator: Actuator, joints: dict[str, str]) -> str:
    """Add the tendon of an implicit drive, whose dry friction MuJoCo's solver limits. Return its name."""
    terms = next((each.joints for each in world.transmissions if each.name == actuator.joint), ((actuator.joint, 1.0),))
    # With islands, MuJoCo would solve copies of the rows that are written here.
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_ISLAND
    spec.option.ls_iterations = max(spec.option.ls_iterations, LINE_SEARCH)
    tendon = spec.add_tendon(name=f"{name_of(actuator)}#drive")
    for joint, coefficient in terms:
        tendon.wrap_joint(joints[joint], coefficient)
    tendon.frictionloss = 1.0  # any positive value makes MuJoCo create the row
    return str(tendon.name)


class Drives:
    """The drives of a world whose limits and engagement can change in a run."""

    def __init__(
        self, actuators: tuple[Actuator, ...], model: mujoco.MjModel, data: mujoco.MjData, columns: Columns
    ) -> None:
        self._model, self._data = model, data
        names = tuple(name_of(actuator) for actuator in actuators)
        self._controls = np.array([model.actuator(name).id for name in names])
        self._begin = np.array([actuator.forces for actuator in actuators])
        self._on = np.array([actuator.engagement for actuator in actuators])
        # Maximum change of engagement in a timestep, upwards and downwards.
        ramps = np.array([actuator.ramp for actuator in actuators])
        with np.errstate(divide="ignore"):
            self._rates = np.minimum(float(model.opt.timestep) / ramps, 1.0)

        def add(
            name: str, meaning: str, unit: str = "", shape: tuple[int, ...] = (), *, state: bool = True
        ) -> FloatArray:
            return np.asarray(columns.add(Column(name, names, shape, unit=unit, meaning=meaning, state=state)))

        self._limits = add(LIMITS, "smallest and largest forces of drives", "N, N m", (2,))
        self._engaged = add(ENGAGED, "how much of its limits a drive is to have, 0 to 1")
        self._engagement = add(ENGAGEMENT, "how much of its limits a drive has, 0 to 1")
        self._anchors = add(ANCHOR, "where drives with the target 0 hold, NaN where they do not", "m, rad")
        self._forces = add(FORCE, "forces of drives", "N, N m", state=False)
        self._constant = np.zeros(len(names))
        self._table = np.zeros((len(names), kernels.DRIVE_COLUMNS))
        self._place = np.full(max(model.ntendon, 1), -1, dtype=np.int64)
        # Tendon lengths at hard joint limits, which velocity drives do not push beyond.
        self._ends = np.full((len(names), 2), (-np.inf, np.inf))
        self._tendons = np.zeros(len(names), dtype=np.int64)
        # The degrees of freedom that each drive acts on, and how much.
        terms: list[list[tuple[int, float]]] = [[] for _ in names]
        for k, actuator in enumerate(actuators):
            if actuator.implicit:
                tendon = int(model.tendon(f"{names[k]}#drive").id)
                self._place[tendon] = k
                self._tendons[k] = tendon
                joints, coefficients = terms_of(model, tendon)
                if actuator.type == "velocity" and len(joints) == 1 and _is_hard(model, joints[0]):
                    self._ends[k] = np.sort(coefficients[0] * model.jnt_range[joints[0]])
                terms[k] = list(zip(model.jnt_dofadr[joints].tolist(), coefficients.tolist(), strict=True))
                self._table[k] = _row(actuator, model, tendon)
        self._has_ends = bool(np.isfinite(self._ends).any())
        width = max(1, *map(len, terms))
        self._joints = np.full((len(names), width), -1, dtype=np.int64)
        self._coefficients = np.zeros((len(names), width))
        for k, some in enumerate(terms):
            for j, (dof, coefficient) in enumerate(some):
                self._joints[k, j], self._coefficients[k, j] = dof, coefficient

    def reset(self) -> None:
        """Reset limits and engagement to those of the world."""
        self._limits[:], self._anchors[:] = self._begin, np.nan
        self._engaged[:] = self._engagement[:] = self._on

    def act(self, targets: FloatArray, data: mujoco.MjData) -> None:
        """Track targets (I,) in this timestep. Called between mj_step1 and mj_step2, when constraint rows are known."""
        change = self._engaged - self._engagement
        self._engagement += np.clip(change, -self._rates[:, 1], self._rates[:, 0])
        if self._has_ends:
            # Slow down to reach the joint limit at most: no constraint resists a drive without force limits.
            reach = (self._ends - data.ten_length[self._tendons, None]) / float(self._model.opt.timestep)
            targets = np.clip(targets, np.minimum(reach[:, 0], 0.0), np.maximum(reach[:, 1], 0.0))
        forces = np.clip(targets, self._limits[:, 0], self._limits[:, 1])
        self._constant[:] = self._engagement * forces
        if self._place.max() >= 0:
            arrays = (data.efc_vel, data.efc_R, data.efc_D, data.efc_frictionloss, data.efc_aref, self._constant)
            kernels.hold_targets(
                *(self._table, (targets, self._limits, self._engagement, self._anchors), self._place),
                float(self._model.opt.timestep),
                *(data.ne, data.nf, data.efc_type, data.efc_id, _FRICTION, data.ten_length, arrays),
            )
        data.ctrl[self._controls] = self._constant

    def add_efforts(self) -> None:
        """Add the forces that the solver found to qfrc_actuator, which already contains the constant ones."""
        data = self._data
        self._forces[:] = self._constant
        kernels.add_efforts(
            *(self._place, data.ne, data.nf, data.efc_type, data.efc_id, _FRICTION, data.efc_force, self._forces),
            *(self._joints, self._coefficients, data.qfrc_actuator),
        )


def _is_hard(model: mujoco.MjModel, joint: int) -> bool:
    """Return whether a joint has hard limits, as opposed to springs."""
    return bool(model.jnt_limited[joint]) and float(model.jnt_solref[joint, 0]) > 0.0


def _row(actuator: Actuator, model: mujoco.MjModel, tendon: int) -> FloatArray:
    """Return the table row of an implicit drive. Warn if its gain is too large for the timestep."""
    mobility = max(float(model.tendon_invweight0[tendon]), MIN_MOBILITY)
    timestep = float(model.opt.timestep)
    ahead = actuator.stiffness * mobility * timestep**2 > MAX_PHASE**2
    gain = actuator.stiffness * timestep * ahead + actuator.damping
    most = kernels.MOST / (mobility * timestep)
    if most < gain < RIGID:
        place = actuator.place
        key = place.key.removesuffix(".joint") or f"actuators[{shown_key(actuator.name or actuator.joint)}]"
        message = f"a gain of {gain:.4g} is reduced to {most:.4g}, the most for what the joint moves in {timestep:g} s"
        warnings.warn(str(Problem(place.where, key, message)), WorldWarning, stacklevel=2)
    hold = actuator.hold or Stop(0.0, 0.0)
    damping = 2.0 * math.sqrt(hold.stiffness / mobility) if hold.damping is None else hold.damping
    return np.array((actuator.stiffness, actuator.damping, mobility, float(ahead), hold.stiffness, damping))
