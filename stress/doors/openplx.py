"""Worlds in OpenPLX."""

from __future__ import annotations

import re
from random import Random

from sim_node.world.locate import shipped_worlds
from stress.doors.worlds import SAMPLES, Folders, files_of
from stress.mutations import NUMBERS, ODD, broken_bytes, broken_lines

WORDS = re.compile(r'"""|"|\w+|\s+|[^\w\s]')
PIECES = (
    "", " ", "\n", "\n    ", "\t", "    ", ":", ".", ",", "[", "]", "{", "}", "(", ")", "[]", "=", "@", "$", "#", '"',
    '"""', "is", "becomes", "with", "or", "reference", "const", "trait", "optional", "static", "fn", "operator",
    "import", "this", "true", "99999999999999999999", "0.5", "1.", "Real", "Int", "Bool", "String", "Real[]", "Body",
    "Rig", "Physics3D", "Math", "Math.Vec3", "System", "x", "position", "rotation", "a.b.c", "World", "Math.INF",
    "Math.Vec3.from_xyz(1, 2, 3)", "{1, 2, 3}", "-", "+", "*", "/", "->", "\r\n", "\\", "Physics3D.Interactions.World",
    "Physics3D.Interactions.Hinge", "Physics3D.Bodies.RigidBody", "is Rig:", "a.b.a.b", *NUMBERS, *ODD,
)  # fmt: skip


class OpenPlx(Folders):
    """Words of the grammar in any order."""

    def samples(self) -> dict[str, dict[str, bytes]]:
        """What every construct is used in, and the world that is shipped."""
        return {"rich": files_of(SAMPLES / "openplx"), "clock": {"w.openplx": shipped_worlds()["clock"].read_bytes()}}

    def broken(self, file: str, data: bytes, rng: Random) -> bytes:
        """As words, as lines or as bytes; now and then nothing but words."""
        text, what = data.decode(), rng.randrange(10)
        if what == 0:
            return broken_bytes(data, rng, 8)
        if what == 1:
            return broken_lines(text, rng)
        if what == 2:
            return "".join(rng.choice(PIECES) for _ in range(rng.randint(0, 80))).encode(errors="surrogatepass")
        words = WORDS.findall(text)
        for _ in range(rng.choice((1, 1, 2, 3, 8))):
            if not words:
                break
            at, kind = rng.randrange(len(words)), rng.randrange(6)
            if kind == 0:
                words[at] = rng.choice(PIECES)
            elif kind == 1:
                words.insert(at, rng.choice(PIECES))
            elif kind == 2:
                del words[at : at + rng.choice((1, 1, 2, 10))]
            elif kind == 3:
                other = rng.randrange(len(words))
                words[at], words[other] = words[other], words[at]
            elif kind == 4:
                words[at] = rng.choice(words)
            else:
                words[at:at] = words[at : at + rng.randrange(1, 30)] * rng.choice((1, 2, 20))
        return "".join(words).encode(errors="surrogatepass")
