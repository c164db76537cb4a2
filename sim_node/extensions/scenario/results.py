"""The results of a scenario: a file with the certificate of each run on a line, appended as soon as it is judged."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from sim_node.extensions.scenario.certificate import Certificate, CertificateFault, certificate
from sim_node.extensions.scenario.judging import COLUMNS
from sim_node.extensions.scenario.verdicts import ERROR
from sim_node.extensions.sweep import Outcome

CERTIFICATES = "certificates.jsonl"
_EACH = "robustness["


class ResultsFault(Exception):
    """A folder of results cannot be used. The message is for the user."""


class Results:
    """The judged runs of a scenario, in an append-only file.

    A line that is incomplete because the process was killed is removed when the file is opened again.

    Args:
        folder: The folder; it is created.
        blank: A certificate of the scenario without a run.
        runs: The number of runs.
        resume: Whether to continue with existing results.

    Attributes:
        done: Mask (runs,) of the judged runs.
        certificates: The certificates by the number of the run.

    Raises:
        ResultsFault: The file is that of another scenario, cannot be written, or another process writes to it.
    """

    def __init__(self, folder: Path, blank: Certificate, runs: int, *, resume: bool = False) -> None:
        self.folder, self._blank = folder, blank
        self.path = folder / CERTIFICATES
        self.done = np.zeros(runs, dtype=bool)
        self.certificates: dict[int, Certificate] = {}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("r+b" if resume and self.path.exists() else "w+b")
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ResultsFault(f"{self.path}: another test is writing to it") from None
        except OSError as error:
            raise ResultsFault(f"{self.path} cannot be written: {error.strerror}") from None
        kept = self._file.read()
        whole = kept[: kept.rfind(b"\n") + 1]
        self._file.seek(len(whole))
        self._file.truncate()
        try:
            for line in whole.decode().splitlines():
                self._take(certificate(line))
        except (CertificateFault, UnicodeDecodeError) as fault:
            self._file.close()
            raise ResultsFault(f"{self.path}: {fault}") from None

    def add(self, outcomes: Iterable[Outcome]) -> None:
        """Append the verdicts of some runs."""
        lines = []
        for outcome in outcomes:
            if not self.done[outcome.case.number]:
                found = certificate_of(self._blank, outcome)
                self.certificates[found.case] = found
                self.done[found.case] = True
                lines.append(found.line() + "\n")
        self._file.write("".join(lines).encode())
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Release the lock."""
        self._file.close()

    def _take(self, found: Certificate) -> None:
        for name in ("world_digest", "duration_ns", "versions"):
            if getattr(found, name) != getattr(self._blank, name):
                raise ResultsFault(f"{self.path}: {name} is another; the other runs would not be of the same test")
        if not found.case < len(self.done):
            raise ResultsFault(f"{self.path} has run {found.case}; allowed: below {len(self.done)}")
        self.certificates[found.case] = found
        self.done[found.case] = True


def certificate_of(blank: Certificate, outcome: Outcome) -> Certificate:
    """Return the certificate of a run of a sweep, based on the blank certificate of its scenario."""
    case, row = outcome.case, outcome.measures
    blank = replace(blank, case=case.number, seed=case.seed, values=dict(case.values))
    if not row:
        return replace(blank, verdict=ERROR, reason=outcome.error)
    each = {key[len(_EACH) : -1]: _number(row[key]) for key in row if key.startswith(_EACH)}
    known: Mapping[str, object] = {key: row[key] for key in COLUMNS}
    return replace(blank, **known, each=each)  # type: ignore[arg-type]


def _number(value: object) -> float | None:
    return value if isinstance(value, float) else None
