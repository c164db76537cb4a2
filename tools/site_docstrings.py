"""For the reference: griffe reads one name in each line of a docstring, ours has several where they share a text."""

import re

import griffe

_SHARED = re.compile(r"^( +)(\w+(?:, \w+)+): (.*\n(?:\1 +.*\n)*)", re.MULTILINE)


class SharedLines(griffe.Extension):
    """Gives each of `low, high: The range.` a line of its own."""

    def on_object(self, *, obj, **_):
        if obj.docstring is not None:
            obj.docstring.value = split_lines(obj.docstring.value)


def split_lines(text):
    """Return a docstring in which lines of several names are a line for each."""
    return _SHARED.sub(lambda m: "".join(f"{m[1]}{name}: {m[3]}" for name in m[2].split(", ")), f"{text}\n").rstrip(
        "\n"
    )
