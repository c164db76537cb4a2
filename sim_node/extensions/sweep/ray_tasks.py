"""The engine `ray`: batches as tasks of Ray Core, on this machine or on a cluster."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from sim_node.extensions.sweep.engine import EngineFault, Finished, sweep_engine
from sim_node.extensions.sweep.job import Cases, Job
from sim_node.packages import how_to_install
from sim_node.plugins import offered

# The number of times that Ray retries a task if its worker or node ends. After that, the driver runs its cases one by
# one, because one of them may be the cause.
MAX_RETRIES = 1


class RayTasks:
    """Runs batches as Ray tasks. Ray decides where; a batch needs one core.

    Args:
        ray: The module.
        job: The job.
        workers: How many batches run at once; None for all cores of the cluster.
        owned: Whether to shut Ray down at the end.
    """

    def __init__(self, ray: Any, job: Job, workers: int | None, *, owned: bool) -> None:
        self._ray, self._owned = ray, owned
        self.workers = workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
        # Stored once in the cluster, however many tasks read it.
        self._job = ray.put(Job(**{**vars(job), "payload": job.payload.remote()}))
        self._key = job.payload.digest + str(id(self))
        self._task = ray.remote(_run).options(num_cpus=1, max_retries=MAX_RETRIES)
        self._running: dict[Any, Cases] = {}

    def submit(self, cases: Cases) -> None:
        """Let a batch run."""
        self._running[self._task.remote(self._key, self._job, cases)] = cases

    def wait(self, seconds: float) -> list[Finished]:
        """Wait until a batch has ended. A batch whose worker ended too often is lost."""
        ray = self._ray
        done, _ = ray.wait(list(self._running), num_returns=1, timeout=seconds)
        ended = []
        for reference in done:
            cases = self._running.pop(reference)
            try:
                ended.append(Finished(cases, ray.get(reference)))
            except ray.exceptions.RayTaskError as error:
                raise error.cause from None
            except ray.exceptions.RayError:
                ended.append(Finished(cases, None))
        return ended

    def close(self) -> None:
        """End all tasks, and Ray if it was started here."""
        for reference in self._running:
            self._ray.cancel(reference, force=True)
        self._running.clear()
        if self._owned:
            self._ray.shutdown()


@sweep_engine("ray")
def open_ray(job: Job, workers: int | None, options: Mapping[str, str]) -> RayTasks:
    """Connect to a cluster, or start Ray on this machine.

    Options: `address` of a cluster, by default that of the environment variable RAY_ADDRESS; `runtime_env`, a YAML or
    JSON file. Packages with plug-ins that the runtime environment does not name must be installed on all nodes.
    """
    # Set before the import, when Ray reads it, so that no usage statistics are sent.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError as error:
        raise EngineFault(f"engine ray: {how_to_install(error)}") from None
    owned = not ray.is_initialized()
    if owned:
        address = options.get("address") or os.environ.get("RAY_ADDRESS") or None
        local = {} if address else {"num_cpus": workers or len(os.sched_getaffinity(0)), "include_dashboard": False}
        try:
            ray.init(
                address=address or "local",
                runtime_env=_runtime_env(options.get("runtime_env"), is_remote=address is not None),
                log_to_driver=False,
                logging_level=logging.ERROR,
                configure_logging=False,
                **local,
            )
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise EngineFault(f"engine ray: {' '.join(str(error).split())}") from None
    return RayTasks(ray, job, workers, owned=owned)


def _runtime_env(file: str | None, *, is_remote: bool) -> dict[str, Any]:
    """Return the runtime environment: that of the file, and the packages of installed plug-ins for other machines.

    Raises EngineFault.
    """
    environment: dict[str, Any] = {}
    if file is not None:
        try:
            text = Path(file).read_text(encoding="utf-8")
            environment = json.loads(text) if file.endswith(".json") else yaml.safe_load(text)
        except (OSError, ValueError, yaml.YAMLError) as error:
            raise EngineFault(f"{file}: {' '.join(str(error).split())}") from None
        if not isinstance(environment, dict):
            raise EngineFault(f"{file}: a mapping is needed, as in `pip: [my_package]`")
    if is_remote and not {"pip", "conda", "uv", "image_uri", "container"} & environment.keys():
        requirements = {f"{point.package}=={point.version}" for of_group in offered().values() for point in of_group}
        if requirements and "py_modules" not in environment:
            _LOG.warning("plug-ins must be installed on all nodes of the cluster: %s", ", ".join(sorted(requirements)))
    return environment


_LOG = logging.getLogger("sim_node")


def _run(key: str, job: Job, cases: Cases) -> Any:
    from sim_node.extensions.sweep.worker import run_batch

    return run_batch(key, job, cases)
