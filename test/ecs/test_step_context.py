"""Callbacks around ticks: what they read and write, when it acts, and what is refused."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sim_node.extensions.elodin as el
from sim_node.extensions.elodin.live import Live
from sim_node.extensions.elodin.pairs import identifier
from sim_node.extensions.elodin.step_context import Callback, StepContext, Stepper

X = Annotated[jax.Array, el.Component("x", el.ComponentType.F64)]
Force3 = Annotated[jax.Array, el.Component("push", el.ComponentType(el.PrimitiveType.F64, (3,)))]
Grid = Annotated[jax.Array, el.Component("grid", el.ComponentType(el.PrimitiveType.F32, (2, 2)))]
Count = Annotated[jax.Array, el.Component("count", el.ComponentType(el.PrimitiveType.U8))]
Log = Annotated[jax.Array, el.Component("log", el.ComponentType.F64, metadata={"external_control": "true"})]
Ticks = Annotated[jax.Array, el.Component("ticks", el.ComponentType.F64)]
START = 1_000_000


@dataclass
class Things(el.Archetype):
    x: X
    push: Force3
    grid: Grid
    count: Count
    log: Log
    ticks: Ticks


@el.map
def grow(x: X, push: Force3, log: Log) -> X:
    return 2.0 * x + push[0] + log


@el.system
def count_ticks(tick: el.Query[el.SimulationTick], each: el.Query[Ticks]) -> el.Query[Ticks]:
    return each.map(Ticks, lambda _: tick[0])


@pytest.fixture(scope="module")
def program() -> Any:
    world = el.World()
    things = Things(1.0, np.zeros(3), np.zeros((2, 2)), np.uint8(0), 0.0, 0.0)
    world.spawn(things, "a")
    world.spawn(things, "Big -> B")
    return world.program(grow | count_ticks, 1 / 120)


Make = Callable[..., Stepper]


@pytest.fixture
def make(program: Any) -> Make:
    def stepper(pre: Callback | None = None, post: Callback | None = None, **more: Any) -> Stepper:
        return Stepper(Live(program), pre, post, START, **more)

    return stepper


def in_callback(make: Make, do: Callable[[StepContext], object], **more: Any) -> Any:
    """Return what a function returns in post_step of tick 0."""
    found: list[Any] = []
    make(None, lambda tick, context: found.append(do(context)), **more).step()
    return found[0]


def test_the_order_is_pre_step_tick_post_step(make: Make) -> None:
    """Upstream's order; what post_step writes acts in the next tick (impeller2_server.rs of v0.16.2)."""
    seen: list[tuple[Any, ...]] = []

    def pre(tick: int, context: StepContext) -> None:
        seen.append(("pre", tick, context.tick, float(context.read_component("a.x")[0])))
        if tick == 0:
            context.write_component("a.x", 10.0)

    def post(tick: int, context: StepContext) -> None:
        seen.append(("post", tick, context.tick, float(context.read_component("a.x")[0])))
        context.write_component("a.push", [1.0 if tick == 1 else 0.0, 0, 0])

    stepper = make(pre, post)
    for _ in range(3):
        assert stepper.step()
    assert seen == [
        ("pre", 0, 0, 1.0),
        ("post", 0, 0, 20.0),
        ("pre", 1, 1, 20.0),
        ("post", 1, 1, 40.0),
        ("pre", 2, 2, 40.0),
        ("post", 2, 2, 81.0),
    ]
    assert stepper.tick == 3


def test_callbacks_count_from_0_and_systems_from_1(make: Make) -> None:
    seen = []
    stepper = make(None, lambda tick, context: seen.append((tick, context.read_component("a.ticks").tolist())))
    for _ in range(3):
        stepper.step()
    assert seen == [(0, [1.0]), (1, [2.0]), (2, [3.0])]


def test_times_are_the_start_and_whole_ticks(make: Make) -> None:
    """k / 120 s, rounded to microseconds once."""
    seen: list[int] = []
    stepper = make(lambda tick, context: seen.append(context.timestamp))
    for _ in range(4):
        stepper.step()
    assert seen == [START, START + 8333, START + 16667, START + 25000]
    assert stepper.stamp(120 * 3600) == START + 3600 * 1_000_000


def test_times_of_elodin_are_whole_nanoseconds_cut_to_microseconds() -> None:
    """Measured in Elodin 0.16.2 at 1/120 s: 8333, 16666, 24999."""
    program = el.World(compat="elodin").program(None, 1 / 120)
    stepper = Stepper(Live(program))
    assert [stepper.stamp(tick) for tick in range(4)] == [0, 8333, 16666, 24999]


def test_values_are_flat_copies_of_the_components_type(make: Make) -> None:
    def look(context: StepContext) -> None:
        for name, dtype, size in (("x", "f8", 1), ("push", "f8", 3), ("grid", "f4", 4), ("count", "u1", 1)):
            value = context.read_component(f"a.{name}")
            assert (value.dtype, value.shape) == (np.dtype(dtype), (size,))
            value += 1
            assert (context.read_component(f"a.{name}") != value).all()

    in_callback(make, look)


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("x", 3, [3.0]),
        ("x", np.array(3.0), [3.0]),
        ("x", np.array([[3]], dtype=np.int64), [3.0]),
        ("push", [1, 2, 3], [1.0, 2.0, 3.0]),
        ("push", (True, False, True), [1.0, 0.0, 1.0]),
        ("push", jnp.array([1.0, 2.0, 3.0]), [1.0, 2.0, 3.0]),
        ("push", np.arange(6.0)[::2], [0.0, 2.0, 4.0]),
        ("grid", [[1, 2], [3, 4]], [1.0, 2.0, 3.0, 4.0]),
        ("grid", np.array([1.5, 2.5, 3.5, 4.5]), [1.5, 2.5, 3.5, 4.5]),
        ("count", 255, [255]),
    ],
)
def test_numbers_are_written_as_numbers(make: Make, name: str, data: Any, expected: list[float]) -> None:
    """An int64 array in a component of F64 is its values, not its bytes."""

    def write(context: StepContext) -> list[float]:
        context.write_component(f"a.{name}", data)
        return list(context.read_component(f"a.{name}"))

    assert in_callback(make, write) == expected


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("x", [1.0, 2.0], "data size mismatch for 'a.x': expected 1 numbers, got 2"),
        ("push", [], "expected 3 numbers, got 0"),
        ("x", "text", "data type mismatch for 'a.x': expected float64, got <U4"),
        ("x", 1j, "got complex128"),
        ("x", None, "got object"),
        ("count", 0.5, "expected uint8, got float64"),
        ("count", 256, "expected uint8, got int64"),
        ("count", -1, "expected uint8, got int64"),
    ],
)
def test_data_that_does_not_fit_is_refused(make: Make, name: str, data: Any, message: str) -> None:
    def write(context: StepContext) -> None:
        with pytest.raises(ValueError, match=message):
            context.write_component(f"a.{name}", data)
        with pytest.raises(ValueError, match=message):
            context.component_batch_operation(writes={f"a.{name}": data})

    in_callback(make, write)


def test_an_unknown_component_is_reported_with_the_nearest_name(make: Make) -> None:
    def look(context: StepContext) -> None:
        for name, near in (("a.pusch", "did you mean a.push"), ("Bigg -> B.x", "did you mean Big -> B.x"), ("a", "")):
            for do in (context.read_component, lambda name: context.write_component(name, 1.0)):
                with pytest.raises(RuntimeError, match=f"component '{name}' not found.*{near}"):
                    do(name)

    in_callback(make, look)


def test_entities_are_also_known_by_their_names_in_snake_case(make: Make) -> None:
    """Elodin makes the identifier `sat_rw_1` of the name `Sat -> RW 1`."""
    assert identifier("Sat -> RW 1") == "sat_rw_1"
    assert identifier("MyRocket2") == "my_rocket2"
    names = ["big_b.x", "Big -> B.x"]
    assert in_callback(make, lambda c: [c.read_component(name).tolist() for name in names]) == [[2.0], [2.0]]


def test_a_batch_writes_first_and_reads_what_it_wrote(make: Make) -> None:
    def batch(context: StepContext) -> dict[str, Any]:
        return context.component_batch_operation(["a.x", "a.push", "big_b.x"], {"a.push": [4, 5, 6]})

    found = in_callback(make, batch)
    assert {name: value.tolist() for name, value in found.items()} == {
        "a.x": [2.0],
        "a.push": [4.0, 5.0, 6.0],
        "big_b.x": [2.0],
    }


WRONG = {
    "a.x": [1.0, 2.0],
    "a.nope": 1.0,
    "a.count": 0.5,
}
RIGHT = {"a.push": [7.0, 7.0, 7.0], "big_b.x": 9.0, "a.log": 3.0}


@given(
    order=st.permutations([*RIGHT, "wrong"]),
    wrong=st.sampled_from([*WRONG, "read", "stamp", "past"]),
)
def test_a_batch_is_all_or_nothing(program: Any, order: list[str], wrong: str) -> None:
    """In any order, and whatever of it is wrong, nothing is written."""
    writes: dict[str, Any] = {}
    for name in order:
        if name != "wrong":
            writes[name] = RIGHT[name]
        elif wrong in WRONG:
            writes[wrong] = WRONG[wrong]
    reads = ["a.nope"] if wrong == "read" else []
    stamps = {"stamp": {"a.grid": START}, "past": {"a.log": START - 1}}.get(wrong)

    def post(tick: int, context: StepContext) -> None:
        with pytest.raises((RuntimeError, ValueError)):
            context.component_batch_operation(reads, writes, stamps)
        after = context.component_batch_operation(["a.push", "big_b.x", "a.log"])
        assert [value.tolist() for value in after.values()] == [[0.0, 0.0, 0.0], [2.0], [0.0]]

    Stepper(Live(program), None, post, START).step()


def test_a_component_of_the_run_is_not_written_in_its_past_nor_future(make: Make) -> None:
    """The seed's example writes 100 ms ago; that is for components with external_control only."""

    def post(tick: int, context: StepContext) -> None:
        context.write_component("a.push", np.zeros(3), context.timestamp)  # equal is allowed
        with pytest.raises(el.TimeTravel, match=r"'a.push' was written at .* external_control='true'"):
            context.write_component("a.push", np.zeros(3), context.timestamp - 100_000)
        with pytest.raises(RuntimeError, match="cannot be written at"):
            context.write_component("a.push", np.zeros(3), context.timestamp + 1)

    stepper = make(None, post)
    stepper.step()
    stepper.step()


def test_a_component_of_external_control_has_times_of_its_own(make: Make) -> None:
    written: list[tuple[str, int, float]] = []

    def post(tick: int, context: StepContext) -> None:
        if tick != 30:
            return
        past = context.timestamp - 100_000
        context.component_batch_operation(writes={"a.log": 1.0}, write_timestamps={"a.log": past})
        context.write_component("a.log", 2.0, past)
        context.write_component("a.log", 3.0)
        with pytest.raises(el.TimeTravel, match=f"'a.log' was written at {context.timestamp} us, later than {past}"):
            context.write_component("a.log", 4.0, past)
        assert context.read_component("a.log").tolist() == [3.0]

    stepper = make(None, post, on_write=lambda pair, stamp, value: written.append((pair.name, stamp, value.item())))
    for _ in range(31):
        stepper.step()
    # After tick 30 it is 31 / 120 s, when the next tick begins.
    assert written == [
        ("a.log", START + 150_000, 1.0),
        ("a.log", START + 150_000, 2.0),
        ("a.log", START + 258_333, 3.0),
    ]


def test_truncate_after_a_tick_begins_again_with_the_state_as_it_is(make: Make) -> None:
    """Seen in Elodin 0.16.2: tick counter, timestamp and SimulationTick begin anew, ctx.tick and the state do not."""
    seen: list[Any] = []
    truncated = []

    def post(tick: int, context: StepContext) -> None:
        seen.append((tick, context.timestamp, context.read_component("a.ticks")[0], context.read_component("a.x")[0]))
        if len(seen) == 3:
            context.truncate()
            assert (context.tick, context.timestamp) == (2, START)
            with pytest.raises(RuntimeError, match=r"component 'a.x' has no data since truncate\(\)"):
                context.read_component("a.x")
            with pytest.raises(RuntimeError, match="has no data"):
                context.component_batch_operation(["a.x", "a.push"], {"a.push": np.zeros(3)})
            context.write_component("a.log", 0.0)
            assert context.read_component("a.log").tolist() == [0.0]

    stepper = make(None, post, on_truncate=lambda: truncated.append(len(seen)))
    for _ in range(5):
        stepper.step()
    assert seen == [
        (0, START, 1.0, 2.0),
        (1, START + 8333, 2.0, 4.0),
        (2, START + 16667, 3.0, 8.0),
        (0, START, 1.0, 16.0),
        (1, START + 8333, 2.0, 32.0),
    ]
    assert truncated == [3]


def test_truncate_before_a_tick_skips_it(make: Make) -> None:
    seen: list[Any] = []

    def pre(tick: int, context: StepContext) -> None:
        seen.append(tick)
        if len(seen) == 3:
            context.truncate()

    stepper = make(pre)
    assert [stepper.step() for _ in range(5)] == [True, True, False, True, True]
    assert seen == [0, 1, 2, 0, 1]
    assert stepper.live.get("x")[0] == 2.0**4


def test_an_exception_passes_with_the_users_line(make: Make) -> None:
    def post(tick: int, context: StepContext) -> None:
        raise OSError("the motor is on fire")

    stepper = make(None, post)
    with pytest.raises(OSError, match="the motor is on fire") as caught:
        stepper.step()
    assert "on fire" in (traceback.extract_tb(caught.value.__traceback__)[-1].line or "")


def test_values_are_read_at_the_times_that_they_had(make: Make) -> None:
    """What post_step saw at each tick, and what it wrote there, is what a read at that time gives later."""
    seen: dict[int, Any] = {}
    now = 0

    def post(tick: int, context: StepContext) -> None:
        nonlocal now
        context.write_component("a.push", [float(tick), 0.0, 0.0])
        now = context.timestamp
        seen[now] = [context.read_component(name) for name in ("a.x", "a.push", "a.ticks")]
        for stamp, values in seen.items():
            for name, value in zip(("a.x", "a.push", "a.ticks"), values, strict=True):
                np.testing.assert_array_equal(context.read_component(name, stamp), value)
                np.testing.assert_array_equal(context.read_component(name, stamp + 1), value)
                found = context.component_batch_operation([name], read_timestamps={name: stamp})
                np.testing.assert_array_equal(found[name], value)

    stepper = make(None, post)
    for _ in range(20):
        stepper.step()
    assert len(seen) == 20
    assert now > START


def test_values_of_the_last_1024_ticks_are_kept(make: Make) -> None:
    """Beside those of now."""
    stamps: list[int] = []
    seen: list[Any] = []
    context: StepContext

    def post(tick: int, given: StepContext) -> None:
        nonlocal context
        context = given
        stamps.append(given.timestamp)
        seen.append(given.read_component("a.x"))

    stepper = make(None, post)
    for _ in range(1050):
        stepper.step()
    np.testing.assert_array_equal(context.read_component("a.x", stamps[-1025]), seen[-1025])
    assert not np.array_equal(seen[-1025], seen[-1024])
    with pytest.raises(RuntimeError, match=rf"values are kept from {stamps[-1025]} us on"):
        context.read_component("a.x", stamps[-1026])


def test_written_values_are_read_at_the_times_that_they_were_given(make: Make) -> None:
    def writes(context: StepContext) -> list[float]:
        for stamp, value in ((START + 10, 1.0), (START + 20, 2.0), (START + 30, 3.0)):
            context.write_component("a.log", value, stamp)
        stamps = (START + 5, START + 10, START + 25, START + 30, START + 99)
        return [float(context.read_component("a.log", stamp)[0]) for stamp in stamps]

    assert in_callback(make, writes) == [0.0, 1.0, 2.0, 3.0, 3.0]


def test_a_time_before_the_start_has_no_data(make: Make) -> None:
    with pytest.raises(
        RuntimeError, match=rf"'a\.x' has no data at {START - 1} us; values are kept from {START} us on"
    ):
        in_callback(make, lambda context: context.read_component("a.x", START - 1))
