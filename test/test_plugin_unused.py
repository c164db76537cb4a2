"""A plug-in that a world does not use changes nothing of it: the same bytes as where it is not installed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from plugins import SITE, conveyor, python

from sim_node.world.locate import shipped_worlds

# Hashes of all that a run of each shipped world sends in its first steps.
HASHES = """
import hashlib, json, sys, warnings
import sim_node.plugins as plugins
from sim_node.simulation import Simulation
from sim_node.viewing.display_sinks import MarkerSink
from sim_node.viewing.rviz import rviz_config
from sim_node.messages.sensor_topics import SensorSink
from sim_node.messages.tf_sink import TfSink, serialised
from sim_node.world import WorldError, load
from sim_node.world.writers.yaml import to_yaml

class Hashing:
    def __init__(self):
        self.sum, self.topics = hashlib.sha256(), {}
    def advertise(self, topic):
        def send(stamp_ns, data):
            self.topics[topic.name] = self.topics.get(topic.name, 0) + 1
            self.sum.update(f"{topic.name} {topic.type} {stamp_ns} ".encode() + bytes(data))
        return send

def sent(world):
    simulation, outlet = Simulation(world, seed=11), Hashing()
    sinks = (TfSink(serialised(outlet)), SensorSink(outlet), MarkerSink(outlet))
    for sink in sinks:
        sink.open(simulation.world, simulation.frames)
    for _ in range(4):
        snapshot = simulation.present()
        outlet.sum.update(snapshot.poses.tobytes())
        for sink in sinks:
            sink.write(snapshot)
        simulation.run(0.05)
    for name, column in simulation.state.columns.items():
        outlet.sum.update(name.encode() + column.tobytes())
    outlet.sum.update(rviz_config(simulation.world).encode())
    return outlet.sum.hexdigest(), outlet.topics

warnings.simplefilter("ignore")
told = {"": sorted(plugins.offered())}
for name in sys.argv[1:]:
    try:
        world = load(name)
        told[name] = sent(world)
        told[name] += (to_yaml(world),)
    except WorldError as error:
        told.setdefault(name, ())
        told[name] += (str(error),)
print(json.dumps(told))
"""


# Few worlds suffice to see that a kind of part nobody uses has no effect; the nightly tests run all.
@pytest.mark.parametrize(
    "worlds",
    [
        pytest.param(("quadrotor",), id="usual"),
        pytest.param([*shipped_worlds()], marks=pytest.mark.nightly, id="all"),
    ],
)
def test_a_shipped_world_has_the_same_bytes_without_it(worlds: Sequence[str], tmp_path: Path) -> None:
    conveyor()
    with_it, without = (python(tmp_path, "-c", HASHES, *worlds, site=site) for site in (SITE, None))
    assert with_it.returncode == without.returncode == 0, with_it.stderr + without.stderr
    here, gone = json.loads(with_it.stdout), json.loads(without.stdout)
    assert "sim_node.engines" in here.pop("")
    assert gone.pop("") == []
    assert list(here) == list(worlds)
    assert sum("/tf" in of[1] for of in here.values() if len(of) > 1) > len(worlds) / 2
    assert here == gone
