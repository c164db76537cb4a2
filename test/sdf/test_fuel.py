"""Models of Fuel: fetched from a server on this machine, only where that is asked for, and unpacked safely."""

from __future__ import annotations

import io
import stat
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import trimesh
from web_sites import Site, serving

from sim_node.cli.main import main
from sim_node.world import World, WorldError, fetching, load, unpacking

ZIP = "application/zip"
PATH = "/1.0/OpenRobotics/models/Red%20Box/tip/Red%20Box.zip"
MASS = "<inertial><mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>"
CONFIG = '<model><name>Red Box</name><sdf version="1.9">model.sdf</sdf></model>'
MESH = "<visual name='v'><geometry><mesh><uri>{}</uri></mesh></geometry></visual>"


def model(mesh: str) -> str:
    """Return the text of a model that draws a mesh."""
    return f'<sdf version="1.9"><model name="box"><link name="l">{MASS}{MESH.format(mesh)}</link></model></sdf>'


def zipped(files: dict[str | zipfile.ZipInfo, str | bytes]) -> bytes:
    """Return a ZIP file."""
    into = io.BytesIO()
    with zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of two files with one name
        for name, content in files.items():
            archive.writestr(name, content, zipfile.ZIP_DEFLATED, compresslevel=1)
    return into.getvalue()


def red_box(mesh: str = "meshes/box.stl") -> bytes:
    """Return the ZIP file of a model with a mesh."""
    stl: bytes = trimesh.creation.box((1.0, 2.0, 3.0)).export(file_type="stl")
    return zipped({"model.config": CONFIG, "model.sdf": model(mesh), "meshes/box.stl": stl})


@pytest.fixture
def site() -> Iterator[Site]:
    with serving({PATH: (ZIP, red_box())}) as served:
        yield served


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "sim_node" / "models"


def world_with(site: Site, folder: Path, end: str = "", api: str = "/1.0") -> Path:
    path = folder / "worlds" / "w.sdf"
    path.parent.mkdir(exist_ok=True)
    uri = site.url(f"{api}/OpenRobotics/models/Red Box{end}".replace(" ", "%20"))
    path.write_text(f'<sdf version="1.9"><world name="w"><include><uri>{uri}</uri></include></world></sdf>')
    return path


def read(path: Path, *, fetch: bool = True) -> World:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return load(path, fetch=fetch)


def refused(path: Path, *, fetch: bool = True) -> str:
    with pytest.raises(WorldError) as error:
        load(path, fetch=fetch)
    [line] = str(error.value).splitlines()
    return line


def test_a_model_is_fetched_when_that_is_asked_for_and_kept(site: Site, tmp_path: Path, cache: Path) -> None:
    path = world_with(site, tmp_path)
    line = refused(path, fetch=False)
    assert "w.sdf:1:" in line
    assert "'Red Box' is on the network, which is not asked; --allow-fetch fetches it once" in line
    assert site.asked == []
    (shape,) = read(path).bodies[0].geometry
    file = next(cache.rglob("box.stl"))
    assert file.parts[-3:] == ("Red Box", "meshes", "box.stl")
    assert str(file) in repr(shape)
    # From then on without the network.
    assert read(path, fetch=False).bodies[0].name == "box/l"
    assert site.asked == [PATH]
    # What was changed in the cache is unpacked again.
    model = next(cache.rglob("model.sdf"))
    model.write_text("something else")
    (model.parent / "more").write_text("more")
    assert read(path, fetch=False).bodies[0].name == "box/l"
    assert not (model.parent / "more").exists()


def test_commands_fetch_with_their_option(site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(world_with(site, tmp_path))
    assert main(["check", path]) == 2
    assert "--allow-fetch" in capsys.readouterr().err
    assert main(["check", path, "--allow-fetch"]) == 0
    assert main(["check", path]) == 0


def test_the_version_and_a_file_of_a_model_are_those_of_its_address(site: Site, tmp_path: Path) -> None:
    third = PATH.replace("tip", "3")
    site.answers[third] = (ZIP, red_box())
    assert read(world_with(site, tmp_path, "/3")).bodies[0].name == "box/l"
    assert read(world_with(site, tmp_path, api="")).bodies[0].name == "box/l"
    assert site.asked == [third, PATH]
    assert read(world_with(site, tmp_path, "/tip/files/model.sdf")).bodies[0].name == "box/l"
    assert "has no meshes/none.dae" in refused(world_with(site, tmp_path, "/tip/files/meshes/none.dae"))
    assert "has no ../../../x" in refused(world_with(site, tmp_path, "/tip/files/../../../x"))
    assert site.asked == [third, PATH]


def test_a_model_finds_its_own_meshes_by_its_name_and_by_its_address(site: Site, tmp_path: Path) -> None:
    by_address = site.url("/1.0/OpenRobotics/models/Red Box/4/files/meshes/box.stl")
    for version, mesh in {"/3": "model://Red Box/meshes/box.stl", "/4": by_address}.items():
        site.answers[PATH.replace("/tip", version)] = (ZIP, red_box(mesh))
        assert len(read(world_with(site, tmp_path, version)).bodies[0].geometry) == 1


def test_a_model_of_fuel_may_be_made_of_another_one(site: Site, tmp_path: Path) -> None:
    crate = f"<include><uri>{site.url('/1.0/Some One/models/Crate/2')}</uri><name>crate</name></include>"
    site.answers[PATH] = (ZIP, zipped({"model.config": CONFIG, "model.sdf": f'<sdf version="1.9">{crate}</sdf>'}))
    inner = "/1.0/Some%20One/models/Crate/2/Crate.zip"
    site.answers[inner] = (ZIP, red_box())
    assert [body.name for body in read(world_with(site, tmp_path)).bodies] == ["crate/l"]
    assert site.asked == [PATH, inner]
    del site.answers[inner]
    (tmp_path / "cache").rename(tmp_path / "gone")
    line = refused(world_with(site, tmp_path))
    assert "Red Box/model.sdf:1:29: uri: " in line
    assert "the server answered 404" in line


def linked() -> zipfile.ZipInfo:
    info = zipfile.ZipInfo("model.sdf")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


# Made where they are used: each process that collects tests would make them all.
BAD: dict[str, Callable[[], bytes]] = {
    "outside": lambda: zipped({"../../model.sdf": "x"}),
    "absolute": lambda: zipped({"/etc/model.sdf": "x"}),
    "drive": lambda: zipped({"C:model.sdf": "x"}),
    "backslash": lambda: zipped({"..\\model.sdf": "x"}),
    "link": lambda: zipped({linked(): "/etc/passwd"}),
    "twice": lambda: zipped({"model.sdf": "x", "MODEL.sdf": "x"}),
    "many": lambda: zipped({f"{k}": "" for k in range(unpacking.MAX_FILES + 1)}),
    "bomb": lambda: zipped({f"{k}.txt": bytes(40 << 20) for k in range(7)}),
    "text": lambda: b"PK not a zip",
    "cut": lambda: red_box()[:-40],
    "damaged": lambda: red_box().replace(b"model.sdf", b"modal.sdf", 1),
}
REASONS = {
    **dict.fromkeys(("outside", "absolute", "drive", "backslash", "link"), "no name of a file in its folder"),
    "twice": "it has two files 'MODEL.sdf'",
    "many": f"it has {unpacking.MAX_FILES + 1} files; allowed: up to {unpacking.MAX_FILES}",
    "bomb": "it is larger than 256 MB when it is unpacked",
    **dict.fromkeys(("text", "cut"), "not a ZIP file"),
    "damaged": "cannot be unpacked",
}


@pytest.mark.parametrize("kind", BAD)
def test_what_is_no_safe_archive_is_refused_and_not_kept(kind: str, site: Site, tmp_path: Path, cache: Path) -> None:
    site.answers[PATH] = (ZIP, BAD[kind]())
    line = refused(world_with(site, tmp_path))
    assert REASONS[kind] in line
    assert "was not fetched" in line
    assert not cache.exists()


# Takes seconds: make test has archives that are refused.
@pytest.mark.nightly
def test_what_an_archive_says_of_its_size_is_not_believed() -> None:
    # The sizes in the central directory, which is at the end: 4 bytes, 24 after its signature.
    data = bytearray(zipped({"model.sdf": bytes(300 << 20)}))
    at = data.rindex(b"PK\x01\x02") + 24
    data[at : at + 4] = (100).to_bytes(4, "little")
    with pytest.raises(ValueError, match=r"cannot be unpacked|larger than 256 MB"):
        unpacking.check_zip(bytes(data))


def test_a_page_and_an_answer_that_is_too_large_are_refused(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = world_with(site, tmp_path)
    monkeypatch.setattr(fetching, "MAX_BYTES", 100)
    assert "it is larger than" in refused(path)
    monkeypatch.undo()
    site.answers[PATH] = ("text/html", b"<html>")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert "the server sent text/html; allowed: application/zip" in refused(path)
    del site.answers[PATH]
    assert "the server answered 404" in refused(path)


def test_other_servers_are_asked_by_https_only(tmp_path: Path) -> None:
    path = tmp_path / "w.sdf"
    uri = "http://example.org/1.0/OpenRobotics/models/Box"
    path.write_text(f'<sdf version="1.9"><world name="w"><include><uri>{uri}</uri></include></world></sdf>')
    assert "is not fetched by http, which anybody on the way can change; allowed: https" in refused(path)
