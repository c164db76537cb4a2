"""Which files a world may lead to."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sim_node.world import WorldError, load
from sim_node.world.locate import LocateError, locate, package_path, share, shipped_worlds

PART = "frames: [{name: secret}]\n"
CSV = "t,x,y,z\n0,1,2,3\n"


@pytest.fixture
def yard(write: Callable[..., Path], tmp_path: Path) -> Path:
    """A folder `yard` for worlds, and files outside it."""
    write(PART, "outside/part.yaml")
    write(CSV, "outside/path.csv")
    write(PART, "yard/inside/part.yaml")
    return tmp_path / "yard"


def refused(path: str | Path, **options: Any) -> list[str]:
    with pytest.raises(WorldError) as error:
        load(path, **options)
    return error.value.lines()


@pytest.mark.parametrize("reference", ["../outside/part.yaml", "inside/../../outside/part.yaml", "{outside}/part.yaml"])
def test_includes_stay_in_the_folder_of_the_world(
    write: Callable[..., Path], yard: Path, tmp_path: Path, reference: str
) -> None:
    reference = reference.format(outside=tmp_path / "outside")
    world = write(f"include: ['{reference}']", "yard/w.yaml")
    (line,) = refused(world)
    assert line.startswith("yard/w.yaml:1:11: include[0]: '")
    assert f"is outside the world's folder {yard}; move it there, or allow its folder (--allow DIR)" in line
    assert load(world, allow=[tmp_path / "outside"]).frames[0].name == "secret"
    assert load(world, allow=["outside"]).frames[0].name == "secret", "relative to the working directory"
    refused(world, allow=["yard/inside"])


@pytest.mark.parametrize("reference", ["../outside/path.csv", "{outside}/path.csv"])
def test_csv_stays_in_the_folder_of_the_world(
    write: Callable[..., Path], yard: Path, tmp_path: Path, reference: str
) -> None:
    reference = reference.format(outside=tmp_path / "outside")
    world = write(f"motions: [{{frame: a, keyframes: {{csv: '{reference}'}}}}]", "yard/w.yaml")
    assert "is outside the world's folder" in refused(world)[0]
    assert load(world, allow=[tmp_path / "outside"]).motions[0].poses[0, 0] == 1


def test_a_symlink_leads_no_further_than_a_path(write: Callable[..., Path], yard: Path, tmp_path: Path) -> None:
    (yard / "link.yaml").symlink_to(tmp_path / "outside" / "part.yaml")
    (yard / "folder").symlink_to(tmp_path / "outside")
    for reference in ("link.yaml", "folder/part.yaml"):
        assert "is outside the world's folder" in refused(write(f"include: [{reference}]", "yard/w.yaml"))[0]
    (yard / "inner.yaml").symlink_to(yard / "inside" / "part.yaml")
    assert load(write("include: [inner.yaml]", "yard/w.yaml")).frames


def test_paths_may_wander_inside_the_folder(write: Callable[..., Path], yard: Path) -> None:
    write("include: [../inside/part.yaml]", "yard/other/part.yaml")
    world = write(
        f"include: [inside/../other/part.yaml, {{file: '{yard}/inside/part.yaml', prefix: b}}]", "yard/w.yaml"
    )
    assert {frame.name for frame in load(world).frames} == {"secret", "b/secret"}


def test_an_included_file_is_bound_by_the_folder_of_the_whole_world(write: Callable[..., Path], yard: Path) -> None:
    write("include: [../../outside/part.yaml]", "yard/inside/bad.yaml")
    (line,) = refused(write("include: [inside/bad.yaml]", "yard/w.yaml"))
    assert line.startswith("yard/inside/bad.yaml:1:11: include[0]: '../../outside/part.yaml' is outside")


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("package://sim_node/../../../etc/passwd", "leaves package 'sim_node'"),
        ("package://sim_node/config/../../secret.yaml", "leaves package 'sim_node'"),
        ("package://../etc/passwd", "no package '..' is installed"),
        ("package:///etc/passwd", "no package 'etc' is installed"),
        ("package://no_such_package/w.yaml", "no package 'no_such_package' is installed"),
        ("package://sim_node/config/worlds/orbitt.yaml", "did you mean orbit.yaml?"),
    ],
)
def test_packages_are_not_climbed_out_of(write: Callable[..., Path], uri: str, message: str) -> None:
    assert message in refused(write(f"include: ['{uri}']"))[0]


def test_a_package_may_be_a_folder_of_links(
    write: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """colcon build --symlink-install fills share folders with links to the sources."""
    write("include: [part.yaml]", "source/worlds/w.yaml")
    write(PART, "source/worlds/part.yaml")
    shared = tmp_path / "install" / "share" / "yard" / "worlds"
    shared.mkdir(parents=True)
    for file in ("w.yaml", "part.yaml"):
        (shared / file).symlink_to(tmp_path / "source" / "worlds" / file)
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"{tmp_path / 'nothing'}{os.pathsep}{tmp_path / 'install'}")
    assert load("package://yard/worlds/w.yaml").frames[0].name == "secret"
    assert load(write("include: ['package://yard/worlds/w.yaml']")).frames[0].name == "secret"


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("''", "no file ''"),
        (".", "no file '.'"),
        ("inside", "no file 'inside'"),
        ("inside/prt.yaml", "no file 'inside/prt.yaml' beside w.yaml; did you mean part.yaml?"),
        ('"a\\0b.yaml"', "cannot be read: embedded null"),
        ("x" * 5000, f"'...{'x' * 197}'"),
        ("~/w.yaml", "no file '~/w.yaml'"),
        ("/dev/zero", "is outside the world's folder"),
        ("[a]", "a text is needed, found a list of 1"),
        ("https://example.org/w.yaml", "no file 'https://example.org/w.yaml'"),
    ],
)
def test_references_that_lead_nowhere(write: Callable[..., Path], yard: Path, reference: str, message: str) -> None:
    assert message in refused(write(f"include: [{{file: {reference}}}]", "yard/w.yaml"))[0]


# What the user names


def test_the_shipped_worlds_have_names() -> None:
    assert {"orbit", "two_vehicles", "arm_on_cart"} <= set(shipped_worlds())
    assert load("orbit").name == "orbit"
    assert locate("package://sim_node/config/worlds/orbit.yaml") == shipped_worlds()["orbit"]


def test_a_file_of_that_name_comes_first(write: Callable[..., Path]) -> None:
    write("world: mine", "orbit")
    with pytest.raises(
        WorldError,
        match=r"^orbit: worlds have the suffix .yaml, .yml, .xml, .urdf, .mjcf, .xacro, .json, .py, .openplx, ",
    ):
        load("orbit")


def test_a_home_is_found(write: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write("world: mine", "w.yml")
    assert load("~/w.yml").name == "mine"
    assert load(Path("w.yml")).name == "mine"


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("orbitt", "no world 'orbitt'; did you mean orbit?"),
        ("yrad.yaml", "no world 'yrad.yaml'; did you mean yard.yaml?"),
        ("folder", "'folder' is a folder; name a world file in it"),
        ("", "'' is a folder"),
        ("x" * 5000, f"no world '...{'x' * 197}'"),
        ("a\0b", "no world 'a\\x00b'"),
        ("~nobody_of_that_name/w.yaml", "no world '~nobody_of_that_name/w.yaml': Could not determine home"),
        ("package://sim_node/no.yaml", "'package://sim_node/no.yaml' is not a file"),
        ("package://sim_node/../x", "leaves package"),
        ("package://nope/x", "no package 'nope' is installed (is its workspace sourced?)"),
    ],
)
def test_worlds_that_are_not_there(write: Callable[..., Path], tmp_path: Path, reference: str, message: str) -> None:
    write("{}", "yard.yaml")
    (tmp_path / "folder").mkdir()
    (line,) = refused(reference)
    assert message in line
    with pytest.raises(LocateError):
        locate(reference)


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs Linux' /proc")
@pytest.mark.parametrize("text", ["include: [fails.yaml]", "motions: [{frame: a, keyframes: {csv: fails.csv}}]"])
def test_a_file_whose_reading_fails(write: Callable[..., Path], tmp_path: Path, text: str) -> None:
    """The memory of a process is a file, and has nothing at its beginning."""
    for name in ("fails.yaml", "fails.csv"):
        (tmp_path / name).symlink_to("/proc/self/mem")
    assert refused("fails.yaml") == ["fails.yaml: cannot be read: Input/output error"]
    (line,) = refused(write(text), allow=["/proc"])
    assert line.endswith(": cannot be read: Input/output error")


def test_share_folders_are_found_where_ament_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    (tmp_path / "share" / "yard").mkdir(parents=True)
    assert share("yard") == tmp_path / "share" / "yard"
    assert package_path("package://yard/a/./b/../c.yaml") == tmp_path / "share" / "yard" / "a" / "c.yaml"
    assert share("") is share("..") is share("a/b") is None
