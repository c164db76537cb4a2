"""Network addresses of a world file: loopback only, unless the user allows others."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator

from sim_node.world.autopilots import autopiloted, place_of
from sim_node.world.model import World
from sim_node.world.problems import Place, Problem, Where, quoted, refuse_any, shown_key

# Links: KIND:PORT is on this machine, KIND:HOST:PORT on HOST. An option may precede it (--master=tcp:...).
_LINK = re.compile(r"(?:.*=)?(?:tcp|tcpin|tcpout|udp|udpin|udpout|udpcl|udpbcast):(?://)?(?P<address>.*)", re.DOTALL)
_ALLOWED = "world files may use loopback only, unless --allow-network (parameter allow_network) is given"


def refuse_network(world: World, *, allowed: bool) -> None:
    """Raise an error if autopilots or processes of a world use addresses beyond loopback.

    Args:
        world: The world.
        allowed: Whether the user allows such addresses.

    Raises:
        WorldError: Names each such address, unless they are allowed.
    """
    refuse_any(() if allowed else network_problems(world))


def network_problems(world: World) -> Iterator[Problem]:
    """Yield a problem for each address beyond loopback."""
    for vehicle, autopilot in autopiloted(world):
        for url in autopilot.links:
            if not is_local(url):
                yield _problem(place_of(vehicle), "", "autopilot.links", url)
    for process in world.processes:
        for key, words in (("command", process.command), ("env", tuple(value for _, value in process.env))):
            for word in words:
                if not is_local(word):
                    yield _problem(process.place, f"processes.{shown_key(process.name)}", key, word)


def is_local(word: str) -> bool:
    """Return whether a word is not a link, or a link on this machine.

    The only host name that is known to be on this machine is localhost.
    """
    found = _LINK.fullmatch(word)
    if found is None:
        return True
    host, colon, _ = found["address"].rpartition(":")
    if not colon or host in ("", "localhost"):
        return found["address"].isdecimal() or bool(colon)
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _problem(place: Place, fallback: str, key: str, word: str) -> Problem:
    at = place if place.key else Place(Where(), fallback)
    return Problem(at.where, f"{at.key}.{key}", f"{quoted(word)} leaves this machine; {_ALLOWED}")
