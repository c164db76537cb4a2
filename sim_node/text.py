"""Text for users: suggestions for misspelt names, and what a terminal can show."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

# Maximum length of an external text in a message, characters.
MAX_SHOWN = 100
# Maximum length of a message that quotes such text repeatedly or unchecked, such as in an error or a log.
MAX_LINE = 2000
# Shorter prefixes are ambiguous.
MIN_PREFIX = 3


def printable(text: str) -> str:
    """Return text on one line, with escapes for characters that a terminal would interpret or could not encode."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def shown(text: str, limit: int = MAX_SHOWN) -> str:
    """Return a name from a file or a peer for a message: printable, and truncated.

    Args:
        text: The name.
        limit: Maximum length.

    Returns:
        The name on one line, with escapes for control characters, line ends and bidirectional marks. Truncated names
        end in `...`.
    """
    line = printable(text[: limit + 1])
    return line if len(line) <= limit else line[: limit - 3] + "..."


def shown_chain(names: Sequence[str], limit: int = 10) -> str:
    """Return external names joined by arrows. Of many names, only the first and the last ones are included."""
    if len(names) > limit:
        first, last = names[: limit // 2], names[-(limit // 2) :]
        left_out = f"({len(names) - len(first) - len(last)} more)"
        return " -> ".join((*map(shown, first), left_out, *map(shown, last)))
    return " -> ".join(map(shown, names))


def some_of(names: Collection[str], most: int = 3) -> str:
    """Return the first names, and the number of further ones."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(shown, [*names][:most])) + more


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean NAME?` for the nearest known name, or an empty string.

    The name itself is not suggested, because asking for it may make it known, as a client does for a service.
    """
    found = nearest(name, (each for each in known if each != name))
    return f"; did you mean {shown(found[0])}?" if found else ""


def nearest(name: str, known: Iterable[str], limit: int = 1) -> tuple[str, ...]:
    """Return up to `limit` of the known names that resemble a misspelt `name`, nearest first.

    A name is similar if at most a third of its letters differ, and for short names less than half. Case and a common
    file suffix are ignored. Abbreviations are also similar: names that begin with `name`, or that end in it after a
    slash.
    """
    ranks: dict[str, float] = {}
    folded = name.casefold()
    for candidate in dict.fromkeys(known):
        rank = _rank(folded, candidate.casefold())
        if rank is not None:
            ranks[candidate] = rank
    return tuple(sorted(ranks, key=ranks.__getitem__)[:limit])


def _rank(name: str, candidate: str) -> float | None:
    """Return the distance of a candidate from a name; None if it is too large."""
    stem, dot, suffix = name.rpartition(".")
    if stem and candidate.endswith(dot + suffix):
        name, candidate = stem, candidate[: -len(dot + suffix)]
    limit = max(1, len(name) // 3)
    limit = min(limit, (max(len(name), len(candidate)) - 1) // 2)
    distance = edits(name, candidate, limit)
    if distance is not None:
        return float(distance)
    if len(name) >= MIN_PREFIX and candidate.startswith(name):
        return limit + 0.5
    if name and candidate.endswith("/" + name.lstrip("/")):
        return limit + 0.75
    return None


def edits(one: str, other: str, limit: int) -> int | None:
    """Count the letters to insert, delete, replace, or swap with the next one; None for more than `limit`.

    This is the optimal string alignment distance: no substring is edited twice.
    """
    if abs(len(one) - len(other)) > limit:
        return None
    start = 0
    while start < min(len(one), len(other)) and one[start] == other[start]:
        start += 1
    end = 0
    while end < min(len(one), len(other)) - start and one[-1 - end] == other[-1 - end]:
        end += 1
    one, other = one[start : len(one) - end], other[start : len(other) - end]
    above: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        before, above, row = above, row, [i]
        for j, opposite in enumerate(other, 1):
            cost = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (letter != opposite))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == opposite:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > limit and (not above or min(above) > limit):
            return None
    return row[-1] if row[-1] <= limit else None
