"""From collision groups to what keeps their geometries apart: pairs of bodies, or collision layers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from sim_node.extensions.openplx.objects import Object
from sim_node.extensions.openplx.tree import BODY
from sim_node.world.loops import ContactExclusion
from sim_node.world.surfaces import DEFAULT_LAYER

# More pairs of bodies become layers, of which MuJoCo has fewer, but whose number of shapes does not matter.
MAX_EXCLUSIONS = 1000


@dataclass
class CollisionGroups:
    """The pairs of groups that do not collide in one model.

    Attributes:
        geometries: The geometries of each body and system.
        name: Names an object in the world.
        exclusions: Pairs of bodies without contacts.
        layers: The collision layer of each geometry that needs one, and the layers that it touches.
    """

    geometries: dict[Object, list[Object]]
    name: Callable[[Object], str]
    exclusions: list[ContactExclusion] = field(default_factory=list)
    layers: dict[Object, tuple[str, tuple[str, ...]]] = field(default_factory=dict)

    def keep_apart(self, pairs: Iterable[Object]) -> None:
        """Take in all pairs of groups. Groups of whole bodies become exclusions, all others layers."""
        # The groups of each geometry that needs a layer, and the pairs of groups among them.
        member_of: dict[Object, dict[str, None]] = {}
        apart: set[frozenset[str]] = set()
        for pair in pairs:
            groups = pair.value("group1"), pair.value("group2")
            members = [self._members(group) for group in groups]
            first, second = map(self._whole, members)
            if first is not None and second is not None and len(first) * len(second) <= MAX_EXCLUSIONS:
                self._exclude(first, second)
            elif all(members):
                names = [self.name(group) for group in groups]
                apart.add(frozenset(names))
                for name, geometries in zip(names, members, strict=True):
                    for geometry in geometries:
                        member_of.setdefault(geometry, {})[name] = None
        self._set_layers(member_of, apart)

    def _exclude(self, first: Iterable[Object], second: Iterable[Object]) -> None:
        seen = {frozenset(each) for each in self.exclusions}
        for one, other in product(map(self.name, first), map(self.name, second)):
            if one != other and frozenset((one, other)) not in seen:
                seen.add(frozenset((one, other)))
                self.exclusions.append(ContactExclusion(one, other))

    def _set_layers(self, member_of: dict[Object, dict[str, None]], apart: set[frozenset[str]]) -> None:
        """Give geometries in the same groups one layer, which touches those of all groups that theirs may meet."""
        kinds = dict.fromkeys(tuple(groups) for groups in member_of.values())
        called = {groups: "+".join(groups) for groups in kinds}
        touched = {
            groups: (
                DEFAULT_LAYER,
                *(
                    layer
                    for others, layer in called.items()
                    if not any(frozenset(each) in apart for each in product(groups, others))
                ),
            )
            for groups in kinds
        }
        for geometry, found in member_of.items():
            groups = tuple(found)
            self.layers[geometry] = called[groups], touched[groups]

    def _members(self, group: Any) -> list[Object]:
        """Return the geometries of a group: its own, those of its bodies, and of all bodies in its systems."""
        if not isinstance(group, Object):
            return []
        found = dict.fromkeys(group.objects("geometries"))
        for body in group.objects("bodies"):
            found |= dict.fromkeys(self.geometries.get(body, ()))
        systems = set(group.objects("systems"))
        for owner in self.geometries if systems else ():
            if owner.is_a(BODY) and systems.intersection(owner.owners()):
                found |= dict.fromkeys(self.geometries[owner])
        return list(found)

    def _whole(self, members: list[Object]) -> list[Object] | None:
        """Return the bodies whose geometries these are; None if a body has others besides."""
        owners = list(dict.fromkeys(each.owner for each in members if each.owner is not None))
        return owners if sum(len(self.geometries.get(owner, ())) for owner in owners) == len(members) else None
