"""The `recipes` of world files, and every fault at its place."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from sim_node.world import Recipe, World, WorldWarning, load


def test_all_that_a_recipe_may_say(read: Callable[..., World]) -> None:
    world = read("""
        recipes:
          px4:
            command: [./bin/px4, -i, 0, -d, "${PX4_DIR:-~/px4}/etc"]
            cwd: build
            env: {PX4_SYS_AUTOSTART: 10016, FLAG: true, SPELT: 0x10}
            restart: on-failure
            log: px4.txt
            delay: 1.5
          gcs: {command: qgroundcontrol}
    """)
    px4, gcs = world.recipes
    assert (px4.name, px4.command) == ("px4", ("./bin/px4", "-i", "0", "-d", "${PX4_DIR:-~/px4}/etc"))
    assert (px4.cwd, px4.restart, px4.log, px4.delay_s) == ("build", "on-failure", "px4.txt", 1.5)
    assert px4.env == (("PX4_SYS_AUTOSTART", "10016"), ("FLAG", "true"), ("SPELT", "0x10"))
    assert gcs == Recipe("gcs", ("qgroundcontrol",), place=gcs.place)


@pytest.mark.parametrize("text", ["./px4 -d 'two words' a\\ b", 'x "y z" ;rm $HOME', "px4  >log 2>&1 &"])
def test_a_text_is_split_as_shlex_does_and_read_by_no_shell(read: Callable[..., World], text: str) -> None:
    quoted = text.replace("'", "''")
    (recipe,) = read(f"recipes: {{a: {{command: '{quoted}'}}}}\n").recipes
    assert recipe.command == tuple(shlex.split(text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[px4]", "10: recipes: a mapping of names to programs is needed, found a list of 1"),
        ("{px4: ./px4}", "16: recipes.px4: a mapping is needed (KEYS), found './px4'"),
        ("{px4: {}}", "16: recipes.px4: command is missing"),
        (
            "{px4: {comand: x, command: x}}",
            "17: recipes.px4.comand: unknown key; did you mean command? (known: KEYS)",
        ),
        ("{px4: {command: []}}", "26: recipes.px4.command: is empty; the name of a program is needed"),
        (
            '{px4: {command: "a \'b"}}',
            '26: recipes.px4.command: "a \'b" cannot be split into words: No closing quotation',
        ),
        ("{px4: {command: [a, [b]]}}", "30: recipes.px4.command[1]: a text is needed, found a list of 1"),
        (
            "{px4: {command: a, restart: allways}}",
            "38: recipes.px4.restart: found 'allways'; allowed: never, on-failure, always; did you mean always?",
        ),
        ("{px4: {command: a, env: {A-B: c}}}", "35: recipes.px4.env.A-B: is no name of an environment variable"),
        ("{px4: {command: a, delay: -1}}", "36: recipes.px4.delay: -1 is out of range; allowed: 0 to 3600"),
        (
            "{../px4: {command: a}}",
            "11: recipes.../px4: is no name of a recipe; letters, digits, and _ . - behind the first are allowed",
        ),
        (
            '{px4: {command: ["a\\0b"]}}',
            "27: recipes.px4.command[0]: a null character cannot be handed to a program",
        ),
    ],
)
def test_faults_are_told_where_they_stand(faults: Callable[..., list[str]], text: str, message: str) -> None:
    keys = "command, cwd, env, restart, log, delay"
    assert faults(f"recipes: {text}") == ["w.yaml:1:" + message.replace("KEYS", keys)]


def test_an_include_brings_no_programs(write: Callable[..., Path]) -> None:
    write("recipes: {px4: {command: px4}}\n", "part.yaml")
    whole = write("include:\n  - part.yaml\n  - {file: part.yaml, prefix: b}\n")
    with pytest.warns(WorldWarning, match=r"include\[[01]\].*: its recipes \(px4\) are left out") as told:
        assert load(whole).recipes == ()
    assert len(told) == 2
