"""Writes the pages of the site that come from files: keys of world files, commands, a plug-in, the Python reference.

Run by `make docs`: .venv/bin/python tools/site_pages.py FOLDER
"""

import argparse
import contextlib
import functools
import importlib
import io
import os
import re
import shutil
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

from sim_node.cli.commands import GROUPS
from sim_node.cli.main import main as sim_node
from sim_node.world.schema import SCHEMAS

# Public rooms in the order of the reference: what people use first.
ROOMS = (
    *("", "world", "simulation", "session", "simulation.sensors", "spatial.frames", "spatial.tree", "recording", "ros"),
    *("viewing", "extensions.elodin", "extensions.gym", "extensions.sweep", "world.base_types", "simulation.physics"),
    *("simulation.columns", "simulation.control", "formats", "assembly", "mavlink", "autopilots", "spatial.geometry"),
    *("messages", "extensions.aerosim", "extensions.fmu", "extensions.assistants"),
)
ROOT = Path(__file__).resolve().parents[1]
TITLES = {
    "world": (
        "Keys of world files",
        "Every key of [world files](../../world-files.md), from the declarations that readers use.",
    ),
    "vehicle": ("Keys of vehicle models", "Every key of the files of [vehicle models](../../vehicles.md)."),
}


def write_pages(folder):
    """Write all pages below a folder, which is made anew."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "python").mkdir(parents=True)
    for kind, schema in SCHEMAS.items():
        write_keys(folder / f"{kind}-file", kind, schema())
    (folder / "commands.md").write_text(commands_page(), encoding="utf-8")
    (folder / "plugin-package.md").write_text(plugin_page(), encoding="utf-8")
    for room in ROOMS:
        module = f"sim_node.{room}".rstrip(".")
        room_module = importlib.import_module(module)
        if room_module.__name__ != module or not hasattr(room_module, "__all__"):
            sys.exit(f"{module} has moved, or has no __all__")
        (folder / "python" / f"{room or 'index'}.md").write_text(room_page(module), encoding="utf-8")
    order = [f"{room or 'index'}.md" for room in ROOMS]
    (folder / "python" / "order.txt").write_text("\n".join(order), encoding="utf-8")


def write_keys(folder, kind, schema):
    """Write a page for each key of the top level, with the shared mappings that only it uses; one for the others."""
    title, about = TITLES[kind]
    known = schema["definitions"]
    sections = {name: form for name, form in schema["properties"].items() if not form.get("deprecated")}
    users = {name: [section for section, form in sections.items() if name in reached(form, known)] for name in known}
    homes = {name: each[0] if len(each) == 1 else SHARED for name, each in users.items() if each}
    folder.mkdir()
    pages = {"index": [f"# {title}", "", about, "", f"`sim_node schema {kind}` writes the same as a JSON Schema.", ""]}
    pages["index"] += ["| Key | Meaning |", "|---|---|"]
    for name, form in sections.items():
        pages["index"].append(f"| [`{name}`]({name}.md) | {cell(form.get('description', ''))} |")
        pages[name] = [f"# {name}", "", form.get("description", ""), "", *tables(form, known)]
    pages[SHARED] = ["# Shared mappings", "", "Mappings that several keys have.", ""]
    for name, home in homes.items():
        pages[home] += [f"## {name}", "", known[name].get("description", ""), "", *rows(known[name], known)]
    for page, lines in pages.items():
        links = {name: f"{'' if home == page else f'{home}.md'}#{anchor(name)}" for name, home in homes.items()}
        text = re.sub(r"#of:([^)]+)", lambda link, links=links: links[link[1]], "\n".join(lines))
        (folder / f"{page}.md").write_text(text + "\n", encoding="utf-8")
    (folder / "order.txt").write_text("\n".join(f"{page}.md" for page in pages), encoding="utf-8")


SHARED = "shared-mappings"


def anchor(name):
    return name.replace(" ", "-").lower()


def reached(form, known):
    """The names of the shared mappings that a form leads to."""
    found, open_forms = set(), [form]
    while open_forms:
        each = open_forms.pop()
        if isinstance(each, dict):
            name = named(each)
            if name is not None and name not in found:
                found.add(name)
                open_forms.append(known[name])
            open_forms += each.values()
        elif isinstance(each, list):
            open_forms += each
    return found


def tables(form, known, path=""):
    """The tables of the mappings in a form that have no name of their own."""
    if form.get("type") == "object" and "properties" in form and "allOf" not in form:
        return [*([f"`{path}`", ""] if path else []), *rows(form, known)]
    found = []
    for inner in inner_forms(form):
        found += tables(inner, known, path)
    return found


def inner_forms(form):
    """The forms that a form consists of."""
    if "items" in form:
        yield form["items"]
    for word in ("anyOf", "allOf"):
        yield from form.get(word, ())
    if "if" in form:
        yield from (form[word] for word in ("then", "else") if word in form)
    if isinstance(form.get("additionalProperties"), dict):
        yield form["additionalProperties"]
    if form.get("type") == "object" and "properties" in form and "allOf" in form:
        yield {key: value for key, value in form.items() if key != "allOf"}


def rows(form, known):
    """A table of the keys of a mapping."""
    required = form.get("required", ())
    lines = ["| Key | Value | Meaning |", "|---|---|---|"]
    inner = []
    for key, value in form["properties"].items():
        needed = " (required)" if key in required else ""
        meaning = value.get("description", known.get(named(value), {}).get("description", ""))
        lines.append(f"| `{key}`{needed} | {cell(shown(value))} | {cell(meaning)} |")
        if named(value) is None:
            inner += [part for each in [value, *inner_forms(value)] for part in nested(key, each, known)]
    return [*lines, "", *inner]


def nested(key, form, known):
    """The table of a mapping within a mapping."""
    return [f"Keys of `{key}`:", "", *rows(form, known)] if "properties" in form and "allOf" not in form else []


def named(form):
    return form["$ref"].rpartition("/")[2] if isinstance(form.get("$ref"), str) else None


def shown(form):
    """A form in a few words."""
    if (name := named(form)) is not None:
        return f"[{name}](#of:{name})"  # write_keys knows on which page that is
    if "enum" in form:
        words = [
            f"`{'none' if word is None else str(word).lower() if isinstance(word, bool) else word}`"
            for word in form["enum"]
        ]
        return ", ".join(words)
    if "anyOf" in form:
        return " or ".join(dict.fromkeys(filter(None, map(shown, form["anyOf"]))))
    kind = form.get("type")
    if kind == "array":
        least, most = form.get("minItems", 0), form.get("maxItems")
        size = f"{least} " if least and least == most else ""
        inner = shown(form["items"])
        plural = inner.replace("number", "numbers", 1) if inner.startswith(("number", "whole")) else inner
        return f"list of {size}{plural}"
    if kind in ("number", "integer"):
        return ("whole " if kind == "integer" else "") + "number" + limits(form)
    if isinstance(kind, list):
        return " or ".join(kind)
    return {"object": "mapping", "string": "text", "boolean": "`true`, `false`"}.get(kind, "anything")


def limits(form):
    low, high, above = (form.get(word) for word in ("minimum", "maximum", "exclusiveMinimum"))
    words = [f"from {low:g}" if low is not None else "", f"above {above:g}" if above is not None else ""]
    words.append(f"to {high:g}" if high is not None else "")
    return "".join(f" {word}" for word in words if word)


def cell(text):
    return text.replace("|", "\\|")


def commands_page():
    lines = [
        "# Commands",
        "",
        "What each command says with `--help`. [The command line](../command-line.md) explains what they share.",
        "",
    ]
    os.environ["COLUMNS"] = "100"
    for title, words in GROUPS.items():
        lines += [f"## {title.capitalize()}", ""]
        for word in words:
            lines += [f"### {word}", "", "```text", help_of(word).rstrip(), "```", ""]
    return "\n".join(lines)


def plugin_page():
    """The files of test/plugin."""
    root = ROOT / "test" / "plugin"
    lines = [
        "# A package of several kinds",
        "",
        "Conveyor belts: a [plug-in](../plugins.md) with a kind of part, an engine, a sensor, a force, a file format, "
        "a link and a subcommand. `pip install .` beside its `pyproject.toml` installs it.",
        "",
    ]
    for path in [root / "pyproject.toml", *sorted(root.glob("*/*.py"))]:
        language = "toml" if path.suffix == ".toml" else "python"
        text = path.read_text(encoding="utf-8").rstrip()
        lines += [f"## {path.relative_to(root)}", "", f"```{language}", text, "```", ""]
    return "\n".join(lines)


def help_of(word):
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.suppress(SystemExit):
        sim_node([word, "--help"])
    return shown.getvalue()


@functools.cache
def _examples():
    """The Python of all pages: what is used most there comes first in the reference."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    return "".join(
        block
        for page in pages
        if page.name != "worlds-in-python-reference.md"
        for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    )


def room_page(module):
    room = importlib.import_module(module)
    options = "    options: {show_root_heading: false, show_root_toc_entry: false, members: false}"
    lines = [f"# {module}", "", f"::: {module}", options, ""]
    mentions = Counter(re.findall(r"\w+", _examples()))
    for name in sorted(room.__all__, key=lambda name: (-mentions[name], name)):
        member = getattr(room, name)
        home = member.__name__ if isinstance(member, ModuleType) else getattr(member, "__module__", None) or module
        if home.partition(".")[0] == "sim_node":
            lines += [f"::: {module}.{name}", ""]
        else:
            lines += [f"## {module}.{name} {{ #{module}.{name} }}", "", f"That of `{home}`.", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    write_pages(parser.parse_args().folder)
