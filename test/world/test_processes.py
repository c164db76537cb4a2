"""The `processes` of world files, and every fault at its place."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from sim_node.world import Process, World, WorldWarning, load
from sim_node.world.writers.yaml import to_yaml


def test_all_that_a_process_may_say(read: Callable[..., World]) -> None:
    world = read("""
        processes:
          px4:
            command: [./bin/px4, -i, 0, -d, "${PX4_DIR:-~/px4}/etc"]
            cwd: build
            env: {PX4_SYS_AUTOSTART: 10016, FLAG: true, SPELT: 0x10}
            restart: on-failure
            log: px4.txt
            delay: 1.5
          gcs: {command: qgroundcontrol}
    """)
    px4, gcs = world.processes
    assert (px4.name, px4.command) == ("px4", ("./bin/px4", "-i", "0", "-d", "${PX4_DIR:-~/px4}/etc"))
    assert (px4.cwd, px4.restart, px4.log, px4.delay_s) == ("build", "on-failure", "px4.txt", 1.5)
    assert px4.env == (("PX4_SYS_AUTOSTART", "10016"), ("FLAG", "true"), ("SPELT", "0x10"))
    assert gcs == Process("gcs", ("qgroundcontrol",), place=gcs.place)


@pytest.mark.parametrize("text", ["./px4 -d 'two words' a\\ b", 'x "y z" ;rm $HOME', "px4  >log 2>&1 &"])
def test_a_text_is_split_as_shlex_does_and_read_by_no_shell(read: Callable[..., World], text: str) -> None:
    quoted = text.replace("'", "''")
    (process,) = read(f"processes: {{a: {{command: '{quoted}'}}}}\n").processes
    assert process.command == tuple(shlex.split(text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[px4]", "12: processes: a mapping of names to programs is needed, found a list of 1"),
        ("{px4: ./px4}", "18: processes.px4: a mapping is needed (KEYS), found './px4'"),
        ("{px4: {}}", "18: processes.px4: command is missing"),
        (
            "{px4: {comand: x, command: x}}",
            "19: processes.px4.comand: unknown key; did you mean command? (known: KEYS)",
        ),
        ("{px4: {command: []}}", "28: processes.px4.command: is empty; a program name is needed"),
        (
            '{px4: {command: "a \'b"}}',
            '28: processes.px4.command: "a \'b" cannot be split into words: No closing quotation',
        ),
        ("{px4: {command: [a, [b]]}}", "32: processes.px4.command[1]: a text is needed, found a list of 1"),
        (
            "{px4: {command: a, restart: allways}}",
            "40: processes.px4.restart: found 'allways'; allowed: never, on-failure, always; did you mean always?",
        ),
        (
            "{px4: {command: a, env: {A-B: c}}}",
            "37: processes.px4.env.A-B: is not a name of an environment variable",
        ),
        ("{px4: {command: a, delay: -1}}", "38: processes.px4.delay: -1 is out of range; allowed: 0 to 3600"),
        (
            "{../px4: {command: a}}",
            "13: processes.../px4: is not a process name; use letters, digits and, after the first character, _ . -",
        ),
        (
            '{px4: {command: ["a\\0b"]}}',
            "29: processes.px4.command[0]: a program argument cannot contain a null character",
        ),
    ],
)
def test_faults_are_reported_where_they_stand(faults: Callable[..., list[str]], text: str, message: str) -> None:
    keys = "command, cwd, env, restart, log, delay"
    assert faults(f"processes: {text}") == ["w.yaml:1:" + message.replace("KEYS", keys)]


def test_the_former_key_is_read_too(read: Callable[..., World], faults: Callable[..., list[str]]) -> None:
    """Files from before say `recipes`; faults are named by the key that the file has."""
    text = "{px4: {command: px4, delay: 2}}\n"
    world = read(f"recipes: {text}")
    assert world.processes == read(f"processes: {text}").processes
    assert "processes:" in to_yaml(world)
    assert faults("recipes: {px4: {}}") == ["w.yaml:1:16: recipes.px4: command is missing"]
    assert faults(f"recipes: {text}processes: {text}") == [
        "w.yaml:1:1: recipes: is another name of processes, which is given, too; give one of them"
    ]


def test_an_include_brings_no_programs(write: Callable[..., Path]) -> None:
    write("processes: {px4: {command: px4}}\n", "part.yaml")
    whole = write("include:\n  - part.yaml\n  - {file: part.yaml, prefix: b}\n")
    with pytest.warns(WorldWarning, match=r"include\[[01]\].*: its processes \(px4\) are ignored") as warnings:
        assert load(whole).processes == ()
    assert len(warnings) == 2
