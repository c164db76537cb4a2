"""Models that schematics name by URLs: fetched from a server on this machine, only where that is asked for."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import trimesh
from web_sites import Site, serving

from sim_node.cli.main import main
from sim_node.recording.worlds import files_below
from sim_node.viewing.schematic.model import GlbModel
from sim_node.world import World, WorldError, fetching, load

GLB = "model/gltf-binary"


def box() -> bytes:
    """Return a GLB file, by trimesh."""
    data: bytes = trimesh.Scene(trimesh.creation.box((1.0, 2.0, 3.0))).export(file_type="glb")
    return data


def glb(text: bytes) -> bytes:
    """Return a GLB file of a JSON chunk only. glTF 2.0, 4.4."""
    text += b" " * (-len(text) % 4)
    return struct.pack("<4sII", b"glTF", 2, 20 + len(text)) + struct.pack("<I4s", len(text), b"JSON") + text


@pytest.fixture
def site() -> Iterator[Site]:
    with serving({"/box.glb": (GLB, box())}) as served:
        yield served


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "sim_node" / "models"


def world_with(url: str, folder: Path) -> Path:
    path = folder / "shown.yaml"
    text = (
        f'world: shown\nframes: [{{name: drone}}]\nschematic: |\n  object_3d drone.world_pos {{ glb path="{url}"; }}\n'
    )
    path.write_text(text, encoding="utf-8")
    return path


def drawn(world: World) -> Path:
    (shown,) = world.schematic.objects
    assert isinstance(shown.drawn, GlbModel)
    return shown.drawn.file


def refused(url: str, folder: Path, *, fetch: bool = True) -> str:
    with pytest.raises(WorldError) as error:
        load(world_with(url, folder), fetch=fetch)
    [line] = str(error.value).splitlines()
    return line


def test_a_model_is_fetched_when_that_is_asked_for_and_kept(site: Site, tmp_path: Path, cache: Path) -> None:
    url = site.url("/box.glb")
    line = refused(url, tmp_path, fetch=False)
    assert "shown.yaml:4:40: object_3d.glb.path: " in line
    assert "--allow-fetch" in line
    assert site.asked == []
    file = drawn(load(world_with(url, tmp_path), fetch=True))
    assert file.parent == cache
    assert trimesh.load_scene(file).extents.tolist() == [1.0, 2.0, 3.0]
    # From then on without the network.
    assert drawn(load(world_with(url, tmp_path))) == file
    assert drawn(load(world_with(url, tmp_path), fetch=True)) == file
    assert site.asked == ["/box.glb"]
    # What was changed in the cache is not drawn.
    file.write_bytes(b"something else")
    assert "--allow-fetch" in refused(url, tmp_path, fetch=False)
    assert drawn(load(world_with(url, tmp_path), fetch=True)).read_bytes() == box()
    # A recording has the file beside its world, even where the cache is below the world's folder.
    name, _ = files_below(load(world_with(url, tmp_path)).files)[1]
    beside = tmp_path / "bag"
    beside.mkdir()
    file.rename(beside / name)
    assert drawn(load(world_with(url, beside))) == beside / name


def test_commands_fetch_with_their_option(site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(world_with(site.url("/box.glb"), tmp_path))
    assert main(["check", path]) == 2
    assert "--allow-fetch" in capsys.readouterr().err
    assert main(["check", path, "--allow-fetch"]) == 0
    assert main(["check", path]) == 0


def test_worlds_in_python_ask_for_it_themselves(site: Site, tmp_path: Path) -> None:
    pytest.importorskip("jax")
    script = tmp_path / "shown.py"
    text = (
        "from sim_node.extensions import elodin as el\nworld = el.World()\n"
        f"world.spawn([el.Body(), world.glb({site.url('/box.glb')!r}, FETCH)], 'drone')\nworld.run(None, max_ticks=1)\n"
    )
    script.write_text(text.replace("FETCH", "False"), encoding="utf-8")
    with pytest.raises(WorldError, match=r"shown.py:3:\d+: glb: 'http://.*--allow-fetch"):
        load(script)
    script.write_text(text.replace("FETCH", "fetch=True"), encoding="utf-8")
    assert drawn(load(script)).read_bytes() == box()


def test_what_is_no_model_is_refused_and_not_kept(
    site: Site, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = json.dumps({"asset": {"version": "2.0"}, "images": [{"uri": "../../../etc/passwd"}]}).encode()
    site.answers |= {
        "/login.glb": ("text/html", b"<html>"),
        "/text.glb": (GLB, b"solid box"),
        "/cut.glb": (GLB, box()[:-7]),
        "/outside.glb": (GLB, glb(outside)),
        "/damaged.glb": (GLB, glb(b"{")),
        "/away.glb": ("", "http://example.org/box.glb"),
        "/file.glb": ("", "file:///etc/passwd"),
        "/moved.glb": ("", "/box.glb"),
    }
    for path, reason in {
        "/login.glb": "the server sent text/html; allowed: model/gltf-binary",
        "/text.glb": "not a binary glTF 2 file",
        "/cut.glb": f"it is incomplete: {len(box()) - 7} of {len(box())} bytes",
        "/outside.glb": "it refers to another file, '../../../etc/passwd'",
        "/damaged.glb": "its JSON is damaged",
        "/away.glb": "redirected to 'http://example.org/box.glb', which is not fetched by http",
        "/file.glb": "Redirection to url 'file:///etc/passwd' is not allowed",
        "/none.glb": "the server answered 404",
        "/box.gltf": "does not end in .glb",
    }.items():
        assert reason in refused(site.url(path), tmp_path)
    monkeypatch.setattr(fetching, "MAX_BYTES", 100)
    assert "it is larger than" in refused(site.url("/box.glb"), tmp_path)
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache.parents[1]))
    assert not cache.exists()
    assert load(world_with(site.url("/moved.glb"), tmp_path), fetch=True)


def test_urls_that_are_never_fetched_say_why(tmp_path: Path) -> None:
    for url, reason in {
        "http://example.org/a.glb": "is not fetched by http, which anybody on the way can change; allowed: https",
        "ftp://example.org/a.glb": "is not fetched by ftp; allowed: https",
        "file:///etc/a.glb": "is not fetched by file; allowed: https",
        "https://me:word@example.org/a.glb": "has a user's name",
        "https:///a.glb": "needs a host",
        "https://example.org/a b.glb": "no spaces",
    }.items():
        assert reason in refused(url, tmp_path)


def test_without_a_connection_there_is_one_clear_error(site: Site, tmp_path: Path) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as closed:
        port = closed.server_port
    line = refused(f"http://127.0.0.1:{port}/box.glb", tmp_path)
    assert line.endswith(f"'http://127.0.0.1:{port}/box.glb' was not fetched: no connection: Connection refused")
