"""For the reference: lets griffe read docstrings in which several names share a line, or have no type of their own."""

import re

import griffe

_SHARED = re.compile(r"^( +)(\w+(?:, \w+)+): (.*\n(?:\1 +.*\n)*)", re.MULTILINE)
_ATTRIBUTES = re.compile(r"^( *)Attributes:\n((?:\1 +.*\n|\n)+)", re.MULTILINE)


class Docstrings(griffe.Extension):
    """Changes each docstring once the package is read."""

    def on_package(self, *, pkg, **_):
        waiting = [pkg]
        while waiting:
            each = waiting.pop()
            waiting += [member for member in each.members.values() if not member.is_alias]
            if each.docstring is not None:
                each.docstring.value = untyped(split_lines(f"{each.docstring.value}\n"), each).rstrip("\n")


def split_lines(text):
    """Return a docstring in which `low, high: The range.` is a line for each name."""
    return _SHARED.sub(lambda m: "".join(f"{m[1]}{name}: {m[3]}" for name in m[2].split(", ")), text)


def untyped(text, owner):
    """Return a docstring that says of attributes without an annotation that they have none.

    griffe would give them the type of the attribute before.
    """

    def mark(section):
        inner = re.search(r"^ +", section[2], re.MULTILINE)
        pattern = rf"^({inner[0]})(\w+):" if inner else "$^"
        return f"{section[1]}Attributes:\n" + re.sub(pattern, line, section[2], flags=re.MULTILINE)

    def line(found):
        try:
            typed = owner[found[2]].annotation is not None
        except (AttributeError, KeyError, TypeError):
            typed = False
        return found[0] if typed else f"{found[1]}{found[2]} ():"

    return _ATTRIBUTES.sub(mark, text)
