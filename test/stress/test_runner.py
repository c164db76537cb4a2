"""The runner finds what it is there to find, goes on behind it, and repeats it."""

from __future__ import annotations

from pathlib import Path

import pytest
from faulty_doors import BAD, opened
from nightly import only

from stress import runner
from stress.__main__ import main
from stress.feeding import made
from stress.keeping import keep, kept
from stress.runner import run

INPUTS = 24
NUMBERS = [n for n in range(INPUTS) if made(opened("fine", Path()), "raises", [b"0"], 1, n) == BAD]


def test_a_door_without_faults(tmp_path: Path) -> None:
    outcome = run("fine", 100, 1, 2, tmp_path, opened)
    assert (outcome.fed, outcome.finds) == (100, [])
    assert outcome.results["fine"] > outcome.results["seven"] > 0


def test_an_exception_is_found_kept_and_repeated(tmp_path: Path) -> None:
    outcome = run("raises", INPUTS, 1, 2, tmp_path, opened)
    assert sorted(find.number for find in outcome.finds) == NUMBERS
    assert {find.what for find in outcome.finds} == {"ValueError: seven"}
    assert len({find.place for find in outcome.finds}) == 1
    assert "faulty_doors.py" in outcome.finds[0].trace
    keep("raises", outcome.finds[0].inputs, tmp_path)
    again = run("raises", 0, 1, 1, tmp_path, opened)
    assert [find.inputs for find in again.finds] == [(BAD,)]


@pytest.mark.parametrize(("name", "place"), only([("slow", "slow"), ("takes memory", "memory")], 1))
def test_a_ceiling_is_found(name: str, place: str, tmp_path: Path) -> None:
    keep(name, (BAD,), tmp_path)
    outcome = run(name, 0, 1, 1, tmp_path, opened)
    assert [(find.place, find.inputs) for find in outcome.finds] == [(place, (BAD,))]


# Takes seconds: make test has faults that end a process.
@pytest.mark.nightly
def test_what_is_compiled_once_is_not_slow(tmp_path: Path) -> None:
    """A burst is slow if it is so again: kernels that a kept seed is the first to need are compiled for it."""
    keep("compiles", (BAD,), tmp_path)
    outcome = run("compiles", 0, 1, 1, tmp_path, opened)
    assert not outcome.finds
    assert outcome.fed == 1


def test_growth_is_found(tmp_path: Path) -> None:
    outcome = run("grows", 600, 1, 1, tmp_path, opened)
    assert [find.place for find in outcome.finds] == ["growth"]


def test_what_is_imported_late_is_no_growth(tmp_path: Path) -> None:
    assert not run("grows once", 600, 1, 1, tmp_path, opened).finds


@pytest.mark.parametrize("name", only(["dies", "waits"], 0))
def test_what_ends_or_stops_a_process_is_found_and_the_rest_is_fed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = [n for n in range(INPUTS) if made(opened(name, tmp_path), name, [b"0"], 1, n) == BAD]
    if name == "waits":
        monkeypatch.setattr(runner, "HANG_WAITING", 20.0)  # of a start, too, which is slow on a busy machine
    outcome = run(name, INPUTS, 1, 1, tmp_path, opened)
    assert [find.number for find in outcome.finds] == numbers
    assert all(find.inputs == (BAD,) for find in outcome.finds)
    assert outcome.results["fine"] + len(numbers) <= INPUTS + len(numbers)


def test_bursts_are_kept_whole(tmp_path: Path) -> None:
    for burst in ((b"one",), (b"", b"two", b"burst\n"), (b"burst\nthree",)):
        keep("door", burst, tmp_path)
    assert sorted(kept("door", tmp_path)) == sorted([(b"one",), (b"", b"two", b"burst\n"), (b"burst\nthree",)])


def test_a_door_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["nowhere"])
    assert "no door nowhere" in capsys.readouterr().err
