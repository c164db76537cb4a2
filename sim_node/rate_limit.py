"""Log lines that a peer can cause again and again: one about each subject in ten seconds."""

from __future__ import annotations

from collections import OrderedDict

PERIOD_NS = 10_000_000_000
# Peers choose some subjects. Beyond this number, lines about further subjects are held back.
MAX_SUBJECTS = 4096


class RateLimit:
    """Lets one line about each subject pass in each period, with the number of those held back since the last one.

    Not thread-safe.

    Args:
        period_ns: The period (ns).
    """

    def __init__(self, period_ns: int = PERIOD_NS) -> None:
        self._period_ns = period_ns
        # When the last line about a subject passed (ns), and how many were held back since, in the order of lines: a
        # peer that invents subjects costs no search among them.
        self._subjects: OrderedDict[str, tuple[int, int]] = OrderedDict()

    def admit(self, about: str, line: str, now_ns: int) -> str:
        """Return the line to log, or an empty string if it is held back.

        Args:
            about: The subject.
            line: The line.
            now_ns: Monotonic time (ns).

        Returns:
            The line, with a count if others were held back; or an empty string.
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
        """Drop subjects without a line in the last period. Return whether there is room."""
        while self._subjects and now_ns - next(iter(self._subjects.values()))[0] >= self._period_ns:
            self._subjects.popitem(last=False)
        return len(self._subjects) < MAX_SUBJECTS
