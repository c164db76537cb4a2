"""Certificates: the identity of a run with its verdict, so that anyone can check that the run is reproducible."""

from __future__ import annotations

import hashlib
import json
import platform
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from importlib import metadata
from pathlib import Path
from typing import Any

from sim_node.extensions.scenario.events import events_of, missions_of
from sim_node.extensions.scenario.verdicts import PASS, VERDICTS
from sim_node.world import World, WorldError
from sim_node.world.writers.yaml import to_yaml

FORMAT = 1
# Packages that affect the results of a run.
_PACKAGES = ("sim_node", "mujoco", "numpy", "numba", "scipy")


class CertificateFault(Exception):
    """A certificate cannot be read. The message is for the user."""


@dataclass(frozen=True)
class Certificate:
    """The identity of a run, and the verdict on it.

    Attributes:
        scenario: The name of the scenario.
        world: The path of the world, or the name of a shipped one.
        world_digest: SHA-256 of the world and its files.
        case: The number of the run.
        seed: Its seed.
        values: Its varied numbers by key path.
        duration_ns: Its simulated time, ns.
        verdict: pass, fail or error.
        reason: Why it is not a pass.
        robustness: The least robustness of all expectations, or None.
        violated: The expectation that was violated first, or empty.
        violated_at: The simulation time of the violation, s, or None.
        each: The robustness of each expectation, or None.
        digest: SHA-256 of the samples of its signals and of its final state; empty if there is none.
        autopilot: The autopilot that replaced those of the world: px4, ardupilot, or empty.
        versions: Versions of Python and of the packages that affect a run, and the machine.
    """

    scenario: str
    world: str
    world_digest: str
    case: int = 0
    seed: int = 0
    values: Mapping[str, float] = field(default_factory=dict)
    duration_ns: int = 0
    verdict: str = PASS
    reason: str = ""
    robustness: float | None = None
    violated: str = ""
    violated_at: float | None = None
    each: Mapping[str, float | None] = field(default_factory=dict)
    digest: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    autopilot: str = ""

    def line(self) -> str:
        """Return the certificate as a line of JSON."""
        return json.dumps({"certificate": FORMAT, **asdict(self)}, ensure_ascii=False, allow_nan=False)

    def differences(self, other: Certificate) -> list[str]:
        """Return the differences to another certificate of the same case, as sentences; the inputs come first."""
        found = []
        for name in ("world_digest", "seed", "duration_ns", "verdict", "robustness", "violated_at", "digest"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs:
                found.append(f"{name}: {_short(mine)}, now {_short(theirs)}")
        if found:
            for name in sorted({*self.versions, *other.versions}):
                mine, theirs = self.versions.get(name, "none"), other.versions.get(name, "none")
                if mine != theirs:
                    found.append(f"{name}: {mine}, now {theirs}")
        return found


def certificate(line: str) -> Certificate:
    """Parse a certificate from a line of JSON.

    Raises:
        CertificateFault: The line is not a certificate.
    """
    try:
        data = json.loads(line)
        if data.pop("certificate") != FORMAT:
            raise CertificateFault(f"a certificate of another format; allowed: {FORMAT}")
        data.setdefault("autopilot", "")  # missing in earlier certificates
        return Certificate(**{each.name: data[each.name] for each in fields(Certificate)})
    except (ValueError, KeyError, TypeError, AttributeError):
        raise CertificateFault("not a certificate of sim_node test") from None


def read_certificate(reference: str) -> Certificate:
    """Read a certificate by file and case number: FILE, or FILE:CASE.

    Raises:
        CertificateFault: There is none.
    """
    path, number = Path(reference), None
    if not path.is_file() and (parts := reference.rpartition(":"))[2].isdigit():
        path, number = Path(parts[0]), int(parts[2])
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CertificateFault(f"{path}: {getattr(error, 'strerror', None) or 'not a text'}") from None
    try:
        found = [certificate(line) for line in lines if line.strip()]
    except CertificateFault as fault:
        raise CertificateFault(f"{path}: {fault}") from None
    if number is None and len(found) == 1:
        return found[0]
    if number is None:
        raise CertificateFault(f"{path} has {len(found)} certificates; choose one: {path}:CASE")
    chosen = next((each for each in found if each.case == number), None)
    if chosen is None:
        raise CertificateFault(f"{path} has no certificate of case {number}")
    return chosen


def tally(found: Iterable[Certificate]) -> str:
    """Return the number of runs with each verdict as text, the best verdict first."""
    counts = Counter(each.verdict for each in found)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in reversed(VERDICTS) if counts[verdict])


def versions() -> dict[str, str]:
    """Return the versions of the software that affects a run."""
    found = {"python": platform.python_version(), "machine": f"{sys.platform} {platform.machine()}"}
    return found | {name: _version(name) for name in _PACKAGES}


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "unknown"


def digest_of(world: World) -> str:
    """Return the SHA-256 of a world and of the contents of its files, independent of their paths."""
    found = hashlib.sha256()
    try:
        found.update(to_yaml(world, lambda path: Path(path).name).encode())
    except WorldError:  # not expressible as a world file, such as a world in Python, whose script is among its files
        found.update(world.name.encode())
    paths = {path.resolve() for path in world.files}
    paths.update(shape.file.resolve() for body in world.bodies for shape in body.geometry if shape.file is not None)
    paths.update(path.resolve() for _, path in missions_of(world, events_of(world)))
    if world.python is not None:
        paths.add(Path(world.python.script).resolve())
    for digest in sorted(hashlib.sha256(path.read_bytes()).digest() for path in paths if path.is_file()):
        found.update(digest)
    return found.hexdigest()


def _short(value: Any) -> str:
    return f"{value[:12]}..." if isinstance(value, str) and len(value) == 64 else str(value)
