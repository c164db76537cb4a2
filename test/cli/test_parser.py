"""What every subcommand's parser refuses: it never runs something else than was asked for."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim_node.cli.commands import COMMANDS, SHIPPED
from sim_node.cli.main import main
from sim_node.cli.parser import StrictParser, add_list, add_optional
from sim_node.recording.settings import is_topic_pattern


def actions(command: str) -> list[argparse.Action]:
    parser = StrictParser()
    COMMANDS[command].add_arguments(parser)
    return [action for action in parser._actions if action.dest != "help"]


def words(action: argparse.Action) -> list[str]:
    """An option with a value that it takes."""
    option = action.option_strings[-1]
    if action.nargs == 0:
        return [option]
    if isinstance(action.nargs, int):
        return [option, *map(str, range(action.nargs))]
    value = next(iter(action.choices)) if action.choices else _VALUES.get(option, "1")
    return [f"{option}={value}"] if option.startswith("--") else [option, value]


_VALUES = {
    **{"--size": "64x64", "--remap": "/a:=/b", "--topics": "/a", "--live": "/a", "--exclude": "/a", "--wait": "/a"},
    **{"--pose": "1,2,3", "--twist": "1,2,3,4,5,6", "--output": "1.rrd"},
    **{"--direction": "0,0,1", "--position": "1,2,3"},
}


def single(command: str) -> Iterator[argparse.Action]:
    for action in actions(command):
        collects = any(name in type(action).__name__ for name in ("List", "Append"))
        if action.option_strings and not collects:
            yield action


@pytest.mark.parametrize("command", SHIPPED)
def test_an_option_is_given_once(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    for action in single(command):
        with pytest.raises(SystemExit) as ended:
            main([command, *words(action), *words(action)])
        assert ended.value.code == 2, action
        assert f"argument {'/'.join(action.option_strings)}: is given twice" in capsys.readouterr().err


@pytest.mark.parametrize("command", SHIPPED)
def test_an_unknown_option_is_named_with_the_nearest(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    needed = [
        word
        for action in actions(command)
        if not action.option_strings or action.required
        for word in _given(command, action)
    ]
    if command in ("export", "render"):  # one of a group
        needed += ["--csv=x"] if command == "export" else ["--out=x.png"]
    with pytest.raises(SystemExit) as ended:
        main([command, *needed, "--zzqqzz"])
    assert ended.value.code == 2
    assert "error: unknown option --zzqqzz\n" in capsys.readouterr().err
    for action in actions(command):
        option = action.option_strings[-1] if action.option_strings else ""
        if action.help != argparse.SUPPRESS and len(option) > 6:
            with pytest.raises(SystemExit) as ended:
                main([command, *needed, option + "q"])
            assert ended.value.code == 2
            assert f"; did you mean {option}?" in capsys.readouterr().err


# Of positionals that are no names.
_NUMBERS = {"FORCE": "1,0,0", "PATH": "1,2,3", "VELOCITY": "1,0,0", "BRIGHTNESS": "1", "VALUE": "1", "VISIBILITY": "1"}


def _given(command: str, action: argparse.Action) -> list[str]:
    if action.option_strings:
        return words(action)
    if action.nargs == "?":
        return []
    if action.choices:
        return [str(next(iter(action.choices)))]
    return [
        "1,0,0,0" if command == "drive" and action.metavar == "VELOCITY" else _NUMBERS.get(str(action.metavar), "x")
    ]


@pytest.mark.parametrize("command", SHIPPED)
def test_no_option_takes_words_that_it_cannot_tell_from_positionals(command: str) -> None:
    """Each list says which words fit it; where a positional may be left out, those are never worlds or bags."""
    found = actions(command)
    optional = [action for action in found if not action.option_strings and action.nargs in ("?", "*")]
    for action in found:
        if action.option_strings and action.nargs in ("*", "+", "?"):
            fits = action.fits  # type: ignore[attr-defined]
            used = [word for word in ("orbit", "w.yaml", "/d/w.yaml", "./bag", "package://p/w.yaml", "a") if fits(word)]
            assert not (optional and used), (action.option_strings, used)


TOPICS = st.lists(st.sampled_from(["/tf", "/drone/*", "*/imu", "re:.*", "re:/a b"]), min_size=1, max_size=4)
WORLDS = st.sampled_from(["orbit", "w.yaml", "/home/me/w.yaml", "package://p/w.yaml", "../w.yaml"])


@given(TOPICS, TOPICS, WORLDS, st.permutations(range(4)))
def test_a_positional_is_found_wherever_it_stands(
    first: list[str], second: list[str], world: str, order: list[int]
) -> None:
    parser = StrictParser()
    parser.add_argument("world", nargs="?", default="default")
    add_list(parser, "--topics", "T", is_topic_pattern)
    add_list(parser, "--wait", "T", is_topic_pattern, empty=True)
    add_optional(parser, "--view", "PORT", str.isdecimal, type=int, const=-1)
    groups = [["--topics", *first], ["--wait", *second], ["--view"], [world]]
    found = parser.parse_args([word for place in order for word in groups[place]])
    assert (found.world, found.topics, found.wait, found.view) == (world, first, second, -1)
    repeated = [word for each in first for word in ("--topics", each)]
    assert parser.parse_args([*repeated, world]).topics == first


@given(st.permutations([["--at", "-1"], ["--live"], ["--size", "1", "2"], ["-o=c"], ["orbit"], ["bag"], ["-2,3"]]))
def test_options_stand_before_after_and_between_positionals(groups: list[list[str]]) -> None:
    parser = StrictParser()
    parser._negative_number_matcher = re.compile(r"-\d")
    for name in ("world", "bag"):
        parser.add_argument(name, nargs="?")
    parser.add_argument("more", nargs="*")
    parser.add_argument("--at", type=float)
    parser.add_argument("--live", action="store_true")
    parser.add_argument("--size", nargs=2)
    parser.add_argument("-o")
    found = parser.parse_args([word for group in groups for word in group])
    places = [group[0] for group in groups if group[0] in ("orbit", "bag", "-2,3")]
    assert [found.world, found.bag, *found.more] == places
    assert (found.at, found.live, found.size, found.o) == (-1, True, ["1", "2"], "c")
    assert parser.parse_args(["orbit", "--live", "--", "--bag"]).bag == "--bag"


def test_a_list_may_be_empty_where_that_means_something() -> None:
    parser = StrictParser()
    add_list(parser, "--wait", "T", is_topic_pattern, empty=True)
    add_optional(parser, "--view", "PORT", str.isdecimal, type=int, const=-1)
    assert vars(parser.parse_args(["--wait", "--view", "80"])) == {"wait": [], "view": 80, "given": {"wait", "view"}}
    assert parser.parse_args([]).wait is None


@pytest.mark.parametrize(
    ("given_words", "message"),
    [
        (["rn", "orbit"], "no command 'rn'; did you mean run?\n"),
        (["lokup"], "did you mean lookup?"),
        (["tree", "orbit", "--ros-args", "-p", "a:=1"], "--ros-args goes with run, fly, replay, record, bridge"),
        (["run", "orbit", "--no-ros", "--record", ""], "--record: DIR is empty"),
        (["run", "orbit", "--no-ros", "--when-full", "end"], "--when-full requires --record DIR"),
        (["run", "--record", "b", "--topics", "orbit"], "'orbit' cannot match a topic; a name (/tf), a glob"),
        (["run", "--record", "b", "--topics", "/tf,/clock"], "'/tf,/clock' cannot match a topic"),
        (["run", "orbit", "--no-ros", "--ros-args", "-p", "seed:=1", "--", "--seed", "2"], "exclude each other"),
        (["run", "orbit", "--no-ros", "--paused"], "--paused with --no-ros needs --view"),
        (["view", "--live", "--seed", "0"], "--live does not support --seed"),
        (["view", "orbit", "--live", "--seed", "0"], "--seed requires --randomised"),
        (["view", "orbit", "--live", "--paused"], "--paused requires a bag"),
        (["view", "orbit", "--live", "--foxglove"], "a page of several sources does not support --foxglove"),
        (["view", "orbit", "arm"], "shows one WORLD, found two: 'orbit' and 'arm'"),
        (["view", "orbit", "--live", "nowhere"], "nowhere: does not exist"),
        (["view", "orbit", "nowhere"], "nowhere: does not exist"),
        (["view", "orbt", "--live"], "no world 'orbt'; did you mean orbit?"),
        (["view", "--foxglove", "--schematic", "x.kdl"], "--foxglove does not support --schematic"),
        (["view", "--live", "--allow", "x"], "--live does not support --allow"),
        (["tree", "--live", "--seed", "0"], "--live does not support --seed"),
        (["tree", "orbit", "--seed", "0"], "--seed requires --randomised"),
        (["tree", "orbit", "--period", "1"], "--period requires --live"),
        (["check", "orbit", "--seed", "0"], "--seed requires --randomised"),
        (["lookup", "orbit", "map", "pad", "--period", "1"], "--period requires --live"),
        (["lookup", "orbit", "map", "pad", "--every", "1"], "--every requires a bag"),
        (["lookup", "--live", "map", "pad", "--every", "1"], "--live does not support --every"),
        (["lookup", "--live", "map", "pad", "--allow", "x"], "--live does not support --allow"),
        (["autopilot", "--craft", "x", "--vehicle", "drone"], "--craft does not support --vehicle"),
        (["bridge", "--tlog", "x", "--url", "udpin:127.0.0.1:1"], "--tlog does not support --url"),
        (["bridge", "--speed", "1"], "--speed requires --tlog"),
        (["replay", "x", "--clock-rate", "100"], "--clock-rate requires --clock"),
        (["snap", "clock", "--trace", "--loglevel", "info"], "--trace and --loglevel info exclude each other"),
        (["render", "orbit", "-o", "x.png", "--fps", "30"], "--fps applies to films"),
    ],
)
def test_what_has_no_effect_is_reported(
    given_words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(given_words) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given_words", "message"),
    [
        (["run", "orbit", "extra"], "unexpected argument 'extra'"),
        (["record", "--live", "/tmp/bag"], "required: DIR (--live took /tmp/bag: write positional arguments first, or"),
        (["render", "-o", "x.png", "--frames", "a", "orbit"], "required: WORLD (--frames took a, orbit: write"),
        (["run", "--view", "99999", "orbit"], "'99999' is not a port"),
        (["view", "orbit", "--port"], "argument --port: expected one argument"),
        (["doctor", "--", "extra"], "unexpected argument 'extra'"),
        (["run", "--topics"], "argument --topics: expected at least one argument"),
    ],
)
def test_what_cannot_be_reported_apart_is_refused(
    given_words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(given_words)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err
