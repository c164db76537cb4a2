"""Rate limit for log lines that a peer can trigger repeatedly: one line per subject in ten seconds."""

from __future__ import annotations

from collections import OrderedDict

PERIOD_NS = 10_000_000_000
# Maximum number of subjects, some of which peers choose. Lines about further subjects are suppressed.
MAX_SUBJECTS = 4096


class RateLimit:
    """Passes one line per subject and period, with the number of lines suppressed since the previous one.

    Not thread-safe.

    Args:
        period_ns: The period (ns).
    """

    def __init__(self, period_ns: int = PERIOD_NS) -> None:
        self._period_ns = period_ns
        # When the last line about a subject passed (ns), and how many were suppressed since, ordered by time, so that a
        # peer that invents subjects causes no search.
        self._subjects: OrderedDict[str, tuple[int, int]] = OrderedDict()

    def admit(self, about: str, line: str, now_ns: int) -> str:
        """Return the line to log, or an empty string if it is suppressed.

        Args:
            about: The subject.
            line: The line.
            now_ns: Monotonic time (ns).

        Returns:
            The line, with a count if others were suppressed; or an empty string.
        """
        before = self._subjects.get(about)
        if before is None and len(self._subjects) >= MAX_SUBJECTS and not self._forget(now_ns):
            return ""
        if before is not None and now_ns - before[0] < self._period_ns:
            self._subjects[about] = before[0], before[1] + 1
            return ""
        self._subjects[about] = now_ns, 0
        self._subjects.move_to_end(about)
        held_back = 0 if before is None else before[1]
        return line if not held_back else f"{line} ({held_back} more like this since the last one)"

    def _forget(self, now_ns: int) -> bool:
        """Drop subjects without a line in the last period. Return whether there is room for another."""
        while self._subjects and now_ns - next(iter(self._subjects.values()))[0] >= self._period_ns:
            self._subjects.popitem(last=False)
        return len(self._subjects) < MAX_SUBJECTS
