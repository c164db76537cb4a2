"""Run by Ray's Python: a sweep on two raylets, one of which is killed when a part of the cases is done.

python ray_cluster.py WORLD OUT
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

# Read when Ray is imported: on a busy machine a raylet needs longer to start than the 30 s that Ray waits.
os.environ["RAY_raylet_start_wait_time_s"] = "240"  # noqa: SIM112  its own spelling

import ray
from ray.cluster_utils import Cluster

from sim_node.extensions.sweep.driver import execute
from sim_node.extensions.sweep.study import Study
from sim_node.extensions.sweep.variations import variation

RUNS = 60


def main(world: str, out: Path) -> None:
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    second = cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address, log_to_driver=False)
    killed: list[int] = []

    def progress(done: int, failures: int) -> None:
        if done > RUNS // 6 and not killed:
            killed.append(done)
            cluster.remove_node(second, allow_graceful=False)

    study = Study(
        world,
        1.0,
        (
            variation("bodies[ball].joint.qd[0]", "normal(3,0.2)"),
            variation("bodies[ball].geometry[0].mass", "1,2,3"),
        ),
        RUNS,
        measures=("final_pose(ball)", "max(pose[ball].z)", str(Path(world).with_name("patient.py"))),
        every=0.1,
    )
    # More batches than two raylets run at once, so that some are under way when one of them ends.
    assert execute(study, out, engine="ray", workers=4, progress=progress)
    print(f"killed after {killed[0]} of {RUNS}", flush=True)
    ray.shutdown()
    cluster.shutdown()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
