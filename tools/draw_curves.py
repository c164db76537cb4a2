"""Draw docs/images/curves-*.png: what pages say in numbers, as curves of runs of their own examples.

Run from the repository: python tools/draw_curves.py [NAME ...]
"""

import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.transform import Rotation

from sim_node import Session, Simulation, load, loads, open_bag
from sim_node.extensions.scenario.timetable import happened

IMAGES = Path("docs/images")
SIM_NODE = str(Path(sys.executable).parent / "sim_node")
INK, FAINT = "#333333", "#b8c4d0"
BLUE, RED, GREEN, PURPLE = "#1f77b4", "#d62728", "#2ca02c", "#9467bd"


def panels(count, height=2.9):
    plt.rcParams.update(
        {
            "font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": FAINT,
            "axes.grid": True, "grid.color": "#e6ebf0", "text.color": INK, "axes.labelcolor": INK,
            "xtick.color": INK, "ytick.color": INK, "axes.titlesize": 9.5, "legend.frameon": False,
        }
    )  # fmt: skip
    figure, axes = plt.subplots(1, count, figsize=(8.0, height), squeeze=False)
    return figure, axes[0]


def save(figure, name):
    figure.tight_layout()
    figure.savefig(IMAGES / f"curves-{name}.png", dpi=110)
    plt.close(figure)


def world_of(page):
    """The first world file of a page."""
    text = Path(page).read_text(encoding="utf-8")
    return loads(re.search(r"^```yaml\n(world: .*?)^```$", text, re.MULTILINE | re.DOTALL)[1])


def columns():
    """The columns `pose` and `rotor_speed` of the page's quadrotor, as its `history` has them."""
    simulation = Simulation(load("quadrotor"), sensors=False)
    history = simulation.history("pose", "rotor_speed", every=0.01)
    simulation.run(6.0)
    row = simulation.frames.names.index("drone/base_link")
    figure, (left, right) = panels(2)
    for at, (axis, colour) in enumerate(zip("xyz", (RED, GREEN, BLUE), strict=True)):
        left.plot(history.times, history["pose"][:, row, at], colour, label=axis)
    left.set(title='history["pose"] of drone/base_link, position', xlabel="s", ylabel="m")
    left.legend(loc="upper left")
    speeds = history["rotor_speed"]
    entities = simulation.columns.column("rotor_speed").entities
    for at, colour in enumerate((RED, GREEN, BLUE, PURPLE)):
        right.plot(history.times, speeds[:, at].reshape(len(history.times)), colour, lw=0.9, label=str(entities[at]))
    right.set(title='history["rotor_speed"]', xlabel="s", ylabel="rad/s")
    right.legend(fontsize=7)
    save(figure, "columns")


def scenario():
    """The ball of the page: what happened, when, and what it did."""
    with Session(world_of("docs/scenarios.md"), real_time_factor=0.0) as session:
        history = session.simulation.history("pose", every=0.01)
        row = session.simulation.frames.names.index("ball")
        session.run(3.0)
        times, poses = history.times.copy(), history["pose"][:, row, :3].copy()
        events = happened(session.simulation)
    figure, (axes,) = panels(1)
    axes.plot(times, poses[:, 2], BLUE, label="height of the ball")
    axes.plot(times, poses[:, 0], RED, label="x, along the wind")
    for event in events:
        at = event.time_ns * 1e-9
        axes.axvline(at, color=INK, lw=0.8, ls=":")
        axes.annotate(f"{event.event}: {event.text}", (at, 3.7), (4, 0), "data", textcoords="offset points", fontsize=8)
    axes.set(xlabel="s", ylabel="m", ylim=(-0.1, 4.0))
    axes.legend(loc="upper left", bbox_to_anchor=(0.17, 0.9))
    save(figure, "scenario")


def elodin():
    """A top without torque, whose angular momentum stays what it was: with Elodin's numbers, and with ours."""
    import jax.numpy as jnp

    import sim_node.extensions.elodin as el

    figure, (axes,) = panels(1)
    moments, spin = np.array([1.0, 2.0, 3.0]), np.array([0.1, 2.0, 0.1])
    for compat, label, colour in (("elodin", 'World(compat="elodin")', RED), (None, "World()", BLUE)):
        world = el.World(compat=compat)
        inertia = el.SpatialInertia(1.0, jnp.array(moments))
        motion = el.SpatialMotion(angular=jnp.array(spin))
        world.spawn(el.Body(world_vel=motion, inertia=inertia), name="top")
        program = world.build(el.six_dof(), sim_time_step=1 / 120)
        program.run(1200)
        kept = program.history(["top.world_pos", "top.world_vel"])
        turns = Rotation.from_quat(np.array(kept["top.world_pos"].to_list())[:, :4])
        rates = turns.inv().apply(np.array(kept["top.world_vel"].to_list())[:, :3])
        momentum = turns.apply(rates * moments)
        change = np.linalg.norm(momentum - momentum[0], axis=1) / np.linalg.norm(momentum[0])
        axes.plot(np.arange(len(change)) / 120, np.maximum(change, 1e-16), colour, label=label)
    axes.set(
        title="free top, moments 1, 2 and 3: change of its angular momentum",
        xlabel="s",
        ylabel="relative",
        ylim=(-0.004, 0.1),
    )
    axes.legend(loc="upper right", ncols=2)
    save(figure, "elodin")


def seeds():
    """Two runs that differ in their seed: the path is the same, the noise of the sensors is not."""
    figure, (left, right) = panels(2)
    with TemporaryDirectory() as folder:
        for seed, style, colour in ((0, "-", BLUE), (7, "--", RED)):
            bag = f"{folder}/seed{seed}"
            command = f"run quadrotor --no-ros --speed max --duration 2 --seed {seed} --record {bag}"
            subprocess.run([SIM_NODE, *command.split()], check=True, stdout=subprocess.DEVNULL)
            with open_bag(bag) as opened:
                truth, imu = opened.columns("/drone/truth/odom"), opened.columns("/drone/imu/data_raw")
            left.plot(truth["time_ns"] * 1e-9, truth["pose.pose.position.z"], colour, ls=style, label=f"--seed {seed}")
            right.plot(imu["time_ns"] * 1e-9, imu["angular_velocity.z"], colour, lw=0.7, label=f"--seed {seed}")
    left.set(title="/drone/truth/odom: height", xlabel="s", ylabel="m")
    right.set(title="/drone/imu/data_raw: turn rate about z", xlabel="s", ylabel="rad/s")
    left.legend(loc="upper left")
    right.legend(loc="upper left")
    save(figure, "seeds")


PICTURES = {each.__name__: each for each in (columns, scenario, elodin, seeds)}


def main() -> None:
    for name in sys.argv[1:] or PICTURES:
        PICTURES[name]()


if __name__ == "__main__":
    main()
