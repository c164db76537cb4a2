"""`sim_node mcp` as assistants use it: the official client over standard input and output, and over HTTP."""

from __future__ import annotations

import json
import math
import os
import re
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import httpx2
import psutil
import pytest
from claims import free_instance
from processes import program, sim_node
from waiting import until_ended

# It takes a second to import, which each process that collects tests would spend.
if TYPE_CHECKING:
    from mcp.client import Client

WORLD = """\
origin: {{latitude: 47.397742, longitude: 8.545594, altitude: 488.0}}
time: {{step: 0.004}}
physics: {{integrator: euler, timestep: 0.002}}
bodies: [{{name: ground, geometry: [{{plane: true}}]}}]
vehicles:
  - name: drone
    model: iris
    pose: {{position: [0, 0, 0.13]}}
    autopilot: {{type: mavlink_builtin, instance: {instance}, in_process: true}}
sensors: [{{name: drone/TRUTH, type: ground_truth, rate: 50}}]
"""
CRATE = "world: crate\nbodies: [{name: crate, joint: free, geometry: [{box: [0.5, 0.5, 0.5], mass: 1.0}]}]\n"
# What a busy machine may need, s.
PATIENCE_S = 120.0

Act = Callable[["Client"], Awaitable[None]]


def served(folder: Path, *options: str, act: Act) -> None:
    """Start the command as a client's configuration does, and act."""
    from mcp.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    command, *words = sim_node("mcp", *options, "--folder", folder, "--log", folder / "calls.jsonl")
    server = StdioServerParameters(command=str(command), args=[*map(str, words)], env=dict(os.environ))

    async def run() -> None:
        with anyio.fail_after(5 * PATIENCE_S):
            async with Client(stdio_client(server)) as client:
                await act(client)

    anyio.run(run)


async def answer(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content[0].text
    return dict(result.structured_content)


async def refusal(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return str(result.content[0].text).removeprefix(f"Error executing tool {tool}: ")


async def until_vehicle(client: Client) -> None:
    with anyio.fail_after(PATIENCE_S):
        while (await client.call_tool("telemetry", {})).is_error:
            await anyio.sleep(0.1)


async def truth(client: Client) -> list[float]:
    """Where the simulation has the vehicle."""
    read = await answer(client, "read_topic", topic="/drone/truth/odom")
    position = read["messages"][0]["pose"]["pose"]["position"]
    return [position[axis] for axis in "xyz"]


def simulations() -> list[psutil.Process]:
    """The processes below the command that run a world."""
    below = psutil.Process().children(recursive=True)
    return [each for each in below if "run" in each.cmdline() and any("cli.main" in word for word in each.cmdline())]


# Takes seconds: make test has this server with two clients below, and the tools by themselves in test/tools.
@pytest.mark.nightly
def test_a_flight_and_a_simulation_that_dies(tmp_path: Path, ros_domain: int) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    world, folder = elsewhere / "w.yaml", tmp_path / "own"
    folder.mkdir()
    world.write_text(WORLD.format(instance=free_instance()))
    begun: list[psutil.Process] = []

    async def act(client: Client) -> None:
        written = await answer(client, "write_world", file="crate.yaml", text=CRATE)
        assert written == {"file": "crate.yaml", "bytes": len(CRATE)}
        # The run has only begun: a call waits for it.
        spawned = await answer(client, "spawn", file="crate.yaml", pose=[30.0, 0.0, 0.5])
        assert spawned["message"] == "spawned crate"
        await until_vehicle(client)
        home = await truth(client)
        # By a name that list_worlds has.
        for name, x in (("gripper", 40.0), ("double_pendulum", 50.0)):
            shipped = await answer(client, "spawn", file=name, name=f"my_{name}", pose=[x, 0.0, 5.0])
            assert shipped["message"] == f"spawned my_{name}"
        with anyio.fail_after(PATIENCE_S):
            while (await client.call_tool("query_tf_tree", {"target": "map", "source": "crate/crate"})).is_error:
                await anyio.sleep(0.1)
        placed = await answer(client, "set", what=["crate"], pose=[0.0, 40.0, 0.5])
        assert placed["message"] == "set crate"
        assert (await answer(client, "remove", name="crate"))["message"] == "removed crate"
        assert "crate" in await refusal(client, "remove", name="crate")
        with_chain = await answer(client, "query_tf_tree", target="map", source="drone/base_link")
        assert with_chain["chain"] == ["drone/base_link", "map"]
        assert (with_chain["target_convention"], with_chain["source_convention"]) == ("ENU", "FLU")
        assert await refusal(client, "flight_goto", x=200.0, y=0.0, z=5.0) == (
            "200 m from home; the limit is 100 m (--max-distance)"
        )
        unknown = await answer(client, "flight_command", command="mode", mode="AUTO.LOITR")
        assert unknown["status"] == "refused"
        assert "did you mean AUTO.LOITER?" in unknown["message"]
        assert (await answer(client, "flight_command", command="arm"))["status"] == "accepted"
        assert (await answer(client, "flight_command", command="takeoff", height=3.0))["status"] == "accepted"
        with anyio.fail_after(PATIENCE_S):
            while (await truth(client))[2] < home[2] + 2.5:
                await anyio.sleep(0.1)
        parts: list[float] = []

        async def progress(part: float, total: float | None, text: str | None) -> None:
            parts.append(part)

        flown = await client.call_tool(
            "flight_goto",
            {"x": 2.0, "y": 5.0, "z": -4.0, "convention": "NED", "speed": 3.0},
            progress_callback=progress,
        )
        assert flown.structured_content["status"] == "reached"
        assert parts == sorted(parts)
        assert math.dist(await truth(client), [home[0] + 5.0, home[1] + 2.0, home[2] + 4.0]) < 0.3

        ahead = await answer(client, "flight_goto", x=0.0, y=-1.0, z=0.5, convention="FLU")
        # It looks north: right is east.
        assert math.dist(ahead["position"], [6.0, 2.0, 4.5]) < 0.3
        assert ahead["convention"] == (await answer(client, "telemetry"))["convention"] == "ENU"

        with anyio.move_on_after(1.0):  # an assistant that loses interest
            await client.call_tool("flight_goto", {"x": -40.0, "y": 2.0, "z": 4.0})
        with anyio.fail_after(PATIENCE_S):  # the vehicle stops
            while abs((await answer(client, "telemetry"))["speed"]) > 0.3:
                await anyio.sleep(0.1)
        assert (await truth(client))[0] > -30.0

        begun.extend(simulations())
        assert len(begun) >= 1
        begun[0].kill()
        with anyio.fail_after(PATIENCE_S):
            while not (await client.call_tool("telemetry", {})).is_error:
                await anyio.sleep(0.1)
        assert "has ended, with exit code -9" in await refusal(client, "flight_command", command="land")

    served(folder, str(world), "--allow-flight", act=act)
    until_ended(*begun)
    rows = [json.loads(line) for line in (folder / "calls.jsonl").read_text().splitlines()]
    outcomes = {row["outcome"] for row in rows if row["tool"] == "flight_goto"}
    assert outcomes == {"done", "refused", "cancelled"}


# make test cancels a run in test/tools/test_server.py, and stops this server with two clients below.
@pytest.mark.nightly
def test_a_client_that_goes_leaves_no_run_behind(tmp_path: Path, ros_domain: int) -> None:
    """Neither its process nor half a bag: the server ends what it has begun before it ends itself."""
    begun: list[psutil.Process] = []

    async def act(client: Client) -> None:
        async with anyio.create_task_group() as group:
            call = {"world": "quadrotor", "duration": 3600.0, "bag": "flight"}
            group.start_soon(client.call_tool, "run_world", call)
            with anyio.fail_after(PATIENCE_S):
                while not list(tmp_path.glob(".partial-*/flight/*")):
                    await anyio.sleep(0.05)
            begun.extend(simulations())
            group.cancel_scope.cancel()

    served(tmp_path, act=act)
    assert begun
    until_ended(*begun)
    assert [path.name for path in tmp_path.iterdir()] == ["calls.jsonl"]
    rows = [json.loads(line) for line in (tmp_path / "calls.jsonl").read_text().splitlines()]
    assert [(row["tool"], row["outcome"]) for row in rows] == [("run_world", "cancelled")]


def test_two_clients_over_http_and_a_token(tmp_path: Path, ros_domain: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from mcp.client import Client
    from mcp.client.streamable_http import streamable_http_client

    monkeypatch.delenv("SIM_NODE_MCP_TOKEN", raising=False)
    with program(sim_node("mcp", "orbit", "--port", "0", "--folder", tmp_path)) as server:
        server.wait_for("token: ")
        url, token = re.findall(r"(http://127\.0\.0\.1:\d+/mcp)\ntoken: (\S+)", server.output)[0]

        async def run() -> None:
            async with httpx2.AsyncClient() as anyone:
                for headers in ({}, {"Authorization": "Bearer wrong"}):
                    assert (await anyone.post(url, headers=headers, json={})).status_code == 401
            headers = {"Authorization": f"Bearer {token}"}
            async with (
                httpx2.AsyncClient(headers=headers, timeout=PATIENCE_S) as http,
                Client(streamable_http_client(url, http_client=http)) as one,
                Client(streamable_http_client(url, http_client=http)) as other,
            ):
                with anyio.fail_after(PATIENCE_S):
                    while (await one.call_tool("query_tf_tree", {})).is_error:
                        await anyio.sleep(0.1)
                found: list[dict[str, Any]] = []

                async def ask(client: Client) -> None:
                    found.extend([await answer(client, "query_tf_tree") for _ in range(10)])

                async with anyio.create_task_group() as group:
                    group.start_soon(ask, one)
                    group.start_soon(ask, other)
                assert len(found) == 20
                assert all({"frames", "left_out"} == set(each) for each in found)

        anyio.run(run)
        below = psutil.Process(server.process.pid).children(recursive=True)
        assert server.stop(signal.SIGINT) == 0
        until_ended(*below)


@pytest.mark.peers
def test_a_thousand_calls(tmp_path: Path, ros_domain: int) -> None:
    """From four tasks at a time, good, wrong and taken back ones, while a world runs."""
    calls: list[tuple[str, dict[str, Any], bool]] = [
        ("query_tf_tree", {}, True),
        ("query_tf_tree", {"target": "map", "source": "nowhere_at_all", "time": 0.0}, False),
        ("list_topics", {"pattern": "/t*"}, True),
        ("read_topic", {"topic": "/clock"}, True),
        ("read_topic", {"topic": "/clock", "count": 0}, False),
        ("read_topic", {"topic": "not a topic"}, False),
        ("simulation", {}, True),
        ("reset", {"scope": "space"}, False),
        ("flight_goto", {"x": 1.0, "y": 1.0, "z": 1.0}, False),
        ("bag_info", {"bag": "../.."}, False),
        ("check_world", {"world": "/etc/passwd"}, False),
    ]
    done: list[bool] = []

    async def act(client: Client) -> None:
        with anyio.fail_after(PATIENCE_S):
            while (await client.call_tool("query_tf_tree", {})).is_error:
                await anyio.sleep(0.1)

        async def some(first: int) -> None:
            for number in range(first, 1000, 4):
                name, arguments, good = calls[number % len(calls)]
                if number % 50 == 0:
                    with anyio.move_on_after(0.05):
                        await client.call_tool("read_topic", {"topic": "/nobody", "timeout": 60.0})
                result = await client.call_tool(name, arguments)
                assert result.is_error is not good, (name, arguments, result.content)
                done.append(good)

        async with anyio.create_task_group() as group:
            for first in range(4):
                group.start_soon(some, first)

    served(tmp_path, "orbit", act=act)
    assert len(done) == 1000
    rows = [json.loads(line) for line in (tmp_path / "calls.jsonl").read_text().splitlines()]
    assert sum(row["outcome"] == "cancelled" for row in rows) == 20
    assert not any(row["outcome"] == "failed" for row in rows)
