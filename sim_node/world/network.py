"""What a world file says of the network: loopback by itself, other addresses only where the user allows it."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator

from sim_node.world.model import World
from sim_node.world.problems import Place, Problem, Where, WorldError, quoted, shown_key

# KIND:PORT is on this machine; KIND:HOST:PORT is where HOST is. An option may stand before it (--master=tcp:...).
_LINK = re.compile(r"(?:.*=)?(?:tcp|tcpin|tcpout|udp|udpin|udpout|udpcl|udpbcast):(?://)?(?P<address>.*)", re.DOTALL)
_ALLOWED = "world files may use this machine's loopback only; --allow-network (parameter allow_network) allows it"


def refuse_network(world: World, *, allowed: bool) -> None:
    """Raises WorldError for a world whose autopilots or recipes would reach, or listen, beyond loopback."""
    problems = [] if allowed else list(network_problems(world))
    if problems:
        raise WorldError(problems)


def network_problems(world: World) -> Iterator[Problem]:
    """Each address beyond loopback, at its place."""
    for vehicle in world.vehicles:
        for url in () if vehicle.autopilot is None else vehicle.autopilot.links:
            if not is_local(url):
                yield _problem(vehicle.place, f"vehicles.{shown_key(vehicle.name)}", "autopilot.links", url)
    for recipe in world.recipes:
        for key, words in (("command", recipe.command), ("env", tuple(value for _, value in recipe.env))):
            for word in words:
                if not is_local(word):
                    yield _problem(recipe.place, f"recipes.{shown_key(recipe.name)}", key, word)


def is_local(word: str) -> bool:
    """Whether a word is no link, or one that stays on this machine. Names of hosts may mean any of them."""
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
