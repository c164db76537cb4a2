"""Random worlds in SDF 1.9: nested models whose links, frames and joints are placed in each other's frames."""

from __future__ import annotations

import math
import random

INERTIA = "<ixx>.1</ixx><iyy>.12</iyy><izz>.13</izz><ixy>.01</ixy><ixz>0</ixz><iyz>-0.005</iyz>"
JOINTS = ("revolute", "prismatic", "ball", "universal", "fixed", "continuous", "screw")
MAX_DEPTH = 2


def random_world(seed: int) -> str:
    """Return the text of a world; the same for the same seed."""
    draw = random.Random(seed)
    models = "".join(_model(draw, f"m{number}", 0, ()) for number in range(draw.randint(1, 2)))
    return f'<?xml version="1.0"?><sdf version="1.9"><world name="w">{models}</world></sdf>'


def _numbers(draw: random.Random, count: int, most: float, digits: int = 3) -> str:
    return " ".join(str(round(draw.uniform(-most, most), digits)) for _ in range(count))


def _pose(draw: random.Random, frames: tuple[str, ...] = ()) -> str:
    """Return a <pose>, or nothing: in one of some frames, by angles or a quaternion."""
    if draw.random() < 0.1:
        return ""
    inside = f' relative_to="{draw.choice(frames)}"' if frames and draw.random() < 0.6 else ""
    place, kind = _numbers(draw, 3, 3.0), draw.randrange(3)
    if kind == 0:
        return f"<pose{inside}>{place} {_numbers(draw, 3, math.pi, 4)}</pose>"
    if kind == 1:
        return f'<pose{inside} degrees="true">{place} {_numbers(draw, 3, 180.0, 2)}</pose>'
    quaternion = [draw.gauss(0.0, 1.0) for _ in range(4)]
    norm = math.sqrt(sum(part * part for part in quaternion))
    turn = " ".join(f"{part / norm:.17g}" for part in quaternion)
    return f'<pose{inside} rotation_format="quat_xyzw">{place} {turn}</pose>'


def _axis(draw: random.Random, tag: str, frames: tuple[str, ...], *, limited: bool) -> str:
    inside = f' expressed_in="{draw.choice(frames)}"' if draw.random() < 0.5 else ""
    low, high = sorted(round(draw.uniform(-1.0, 1.0), 3) for _ in range(2))
    limit = f"<limit><lower>{min(low, -0.01)}</lower><upper>{max(high, 0.01)}</upper></limit>"
    given = limit if limited and draw.random() < 0.5 else ""
    return f"<{tag}><xyz{inside}>{_numbers(draw, 3, 1.0)}</xyz>{given}</{tag}>"


def _link(draw: random.Random, name: str, frames: tuple[str, ...]) -> str:
    mass = f"<mass>{round(draw.uniform(0.5, 3.0), 3)}</mass>"
    return (
        f'<link name="{name}">{_pose(draw, frames)}<inertial>{_pose(draw)}{mass}<inertia>{INERTIA}</inertia></inertial>'
        f'<collision name="c">{_pose(draw)}<geometry><sphere><radius>.1</radius></sphere></geometry></collision>'
        f'<visual name="v">{_pose(draw)}<geometry><box><size>.1 .2 .3</size></box></geometry></visual></link>'
    )


def _model(draw: random.Random, name: str, depth: int, above: tuple[str, ...]) -> str:
    """Return a model. above: names of frames that it can be placed in. Frames refer to those that come before them."""
    links, known, parts = [f"l{k}" for k in range(draw.randint(2, 5))], ["__model__"], ""
    for link in links:
        parts += _link(draw, link, tuple(known) if draw.random() < 0.7 else ())
        known.append(link)
    for number in range(draw.randint(0, 2) if depth < MAX_DEPTH else 0):
        parts += _model(draw, f"sub{number}", depth + 1, tuple(known))
        known += [f"sub{number}", f"sub{number}::l0", f"sub{number}::l1"]
    for number in range(draw.randint(1, 3)):
        attached = f' attached_to="{draw.choice(known[1:])}"' if draw.random() < 0.6 else ""
        parts += f'<frame name="f{number}"{attached}>{_pose(draw, tuple(known))}</frame>'
        known.append(f"f{number}")
    for number in range(1, len(links)):
        kind = draw.choice(JOINTS)
        count = {"ball": 0, "fixed": 0, "universal": 2}.get(kind, 1)
        axes = "".join(
            _axis(draw, tag, tuple(known), limited=kind != "continuous") for tag in ("axis", "axis2")[:count]
        )
        ends = f"<parent>{draw.choice(links[:number])}</parent><child>l{number}</child>"
        pose = _pose(draw, tuple(known)) if draw.random() < 0.6 else ""
        parts += f'<joint name="j{number}" type="{kind}">{pose}{ends}{axes}</joint>'
        known.append(f"j{number}")
    placement = f' placement_frame="{draw.choice(known[1:])}"' if draw.random() < 0.4 else ""
    canonical = f' canonical_link="{draw.choice(links)}"' if draw.random() < 0.4 else ""
    return f'<model name="{name}"{placement}{canonical}>{_pose(draw, above)}{parts}</model>'
