"""Mutations that know no format, or only that a text has words and lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

EXTREMES = (b"\0", b"\xff", b"\x7f", b"\x80", b"\x00\x00\xc0\x7f", b"\x00\x00\x80\x7f")
TOKEN = re.compile(r"\s+|[\w.*/-]+|.", re.DOTALL)
# Numbers that are none, too large, too small, or written as nobody expects.
NUMBERS = (
    "0", "-0", "-1", "1e999", "-1e-999", ".nan", "nan", ".inf", "-inf", "1_0", "0x1", "0o7", "1e300", "2147483648",
    "9223372036854775808", "1e-7", "9" * 400, "5e-324", "1.7976931348623157e308", "1e16", "0.1.2", "1,5", "+", "1e",
)  # fmt: skip
# Characters that end lines, hide, change direction or are none.
ODD = ("\0", "\x7f", "\ufeff", "\u2028", "\x85", "é", "😀", "\r", "\u202e", "\ud7ff", "\t", "\x0b", "")


def count_lines(data: bytes) -> int:
    """Return how many lines a file has at most, by all that ends lines in any format."""
    return sum(data.count(end) for end in (b"\n", b"\r", "\x85".encode(), "\u2028".encode(), "\u2029".encode())) + 2


def broken_bytes(data: bytes, rng: Random, most: int = 4) -> bytes:
    """Return bytes with bits flipped, parts gone or doubled, cut, or filled with extremes."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, most)):
        kind, at = rng.randrange(7), rng.randrange(len(changed)) if changed else 0
        if kind == 0 and changed:
            changed[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            changed[at : at + rng.randint(1, 8)] = b""
        elif kind == 2:
            changed[at:at] = changed[at : at + rng.randint(1, 16)]
        elif kind == 3:
            del changed[at:]
        elif kind == 4:
            pattern = rng.choice(EXTREMES)
            changed[at : at + len(pattern)] = pattern
        elif kind == 5:
            changed[at:at] = rng.randbytes(rng.randint(1, 64))
        elif rng.random() < 0.1:
            changed = bytearray(rng.randbytes(rng.randint(0, 96)))
    return bytes(changed)


def broken_words(text: str, rng: Random, words: Sequence[str]) -> bytes:
    """Return text with words replaced, doubled, swapped, removed or repeated many times."""
    tokens = TOKEN.findall(text)
    for _ in range(rng.choice((1, 1, 2, 3, 6))):
        if not tokens:
            break
        at, what = rng.randrange(len(tokens)), rng.randrange(8)
        word = rng.choice((rng.choice(words), rng.choice(tokens), rng.choice(NUMBERS), rng.choice(ODD)))
        if what < 3:
            tokens[at] = word
        elif what == 3:
            tokens.insert(at, word)
        elif what == 4:
            tokens[at] = rng.choice((tokens[at] + word, word + tokens[at]))
        elif what == 5:
            del tokens[at : at + rng.choice((1, 1, 2, 10))]
        elif what == 6:
            other = rng.randrange(len(tokens))
            tokens[at], tokens[other] = tokens[other], tokens[at]
        else:
            tokens[at:at] = tokens[at : at + rng.randint(1, 30)] * rng.choice((1, 2, 20))
    return "".join(tokens).encode("utf-8", errors="surrogatepass")


def broken_lines(text: str, rng: Random) -> bytes:
    """Return text with lines removed, repeated, moved, indented or cut."""
    lines = text.splitlines(keepends=True) or [""]
    for _ in range(rng.randint(1, 4)):
        at, other, kind = rng.randrange(len(lines)), rng.randrange(len(lines)), rng.randrange(8)
        if kind == 0 and len(lines) > 1:
            del lines[at]
        elif kind == 1:
            lines.insert(other, lines[at])
        elif kind == 2:
            lines[at], lines[other] = lines[other], lines[at]
        elif kind == 3:
            lines.insert(other, lines.pop(at))
        elif kind == 4:
            lines[at] = rng.choice((" ", "  ", "\t", "- ")) + lines[at]
        elif kind == 5:
            lines[at] = lines[at][rng.randint(1, 4) :]
        elif kind == 6:
            lines[at] = lines[at][: rng.randint(0, len(lines[at]))]
        elif rng.random() < 0.3:
            lines[at:at] = [lines[at]] * 200
    return "".join(lines).encode()
