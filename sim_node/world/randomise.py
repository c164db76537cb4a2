"""Worlds drawn from a world: bodies whose place is given as a range."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sim_node.world.bodies import Body
from sim_node.world.model import World


def randomised(world: World, seed: int) -> World:
    """The world with each position_range drawn, uniformly; the same world and seed give the same places."""
    random = np.random.default_rng(seed)

    def drawn(body: Body) -> Body:
        if body.position_range is None:
            return body
        least, most = body.position_range
        pose = np.array(body.pose)
        pose[:3] = random.uniform(least, most)
        return replace(body, pose=pose)

    return replace(world, bodies=tuple(map(drawn, world.bodies)))
