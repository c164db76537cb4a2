"""Text for people: names that they may have meant, and what a terminal can show."""

from __future__ import annotations

from collections.abc import Iterable

# Of a shorter beginning it is a guess which name was meant.
SHORTEST_BEGINNING = 3


def printable(text: str) -> str:
    """Text on one line, with escapes for what a terminal would obey or could not encode."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`; did you mean NAME?` for the nearest known name, or nothing where none is near."""
    found = nearest(name, known)
    return f"; did you mean {found[0]}?" if found else ""


def nearest(name: str, known: Iterable[str], most: int = 1) -> tuple[str, ...]:
    """Return up to `most` of the known names that look like a misspelt `name`, the nearest first.

    A name is near if at most a third of its letters differ, and fewer than half of those of a short one. Case does
    not count, nor does a file suffix that both have. What `name` abbreviates is near too: a name that begins with
    it, or that ends in it after a slash.
    """
    ranks: dict[str, float] = {}
    folded = name.casefold()
    for candidate in dict.fromkeys(known):
        rank = _rank(folded, candidate.casefold())
        if rank is not None:
            ranks[candidate] = rank
    return tuple(sorted(ranks, key=ranks.__getitem__)[:most])


def _rank(name: str, candidate: str) -> float | None:
    """How far a candidate is from a name, None where it is too far."""
    stem, dot, suffix = name.rpartition(".")
    if stem and candidate.endswith(dot + suffix):
        name, candidate = stem, candidate[: -len(dot + suffix)]
    limit = max(1, len(name) // 3)
    limit = min(limit, (max(len(name), len(candidate)) - 1) // 2)
    distance = edits(name, candidate, limit)
    if distance is not None:
        return float(distance)
    if len(name) >= SHORTEST_BEGINNING and candidate.startswith(name):
        return limit + 0.5
    if name and candidate.endswith("/" + name.lstrip("/")):
        return limit + 0.75
    return None


def edits(one: str, other: str, limit: int) -> int | None:
    """Count the letters to insert, delete, replace, or swap with the next; None where they are more than `limit`.

    The optimal string alignment distance: no part of the text is edited twice.
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
