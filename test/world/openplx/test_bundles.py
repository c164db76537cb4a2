"""The bundles of openplx-bundles, all of them."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest

from sim_node.extensions.openplx.evaluate import evaluate
from sim_node.extensions.openplx.library import BUILT_IN, Definition, Library, Namespace
from sim_node.extensions.openplx.models import Models
from sim_node.extensions.openplx.objects import Instances, Object
from sim_node.extensions.openplx.parse import parse
from sim_node.extensions.openplx.reader import check
from sim_node.world.readers.files import Roots
from sim_node.world.readers.report import Report


def read_all(namespace: Namespace, definitions: list[Definition]) -> list[Definition]:
    for file in namespace.files():
        namespace._read_file(file)
    definitions += namespace.definitions.values()
    for name in sorted(namespace.names()):
        inner = namespace.inner(name)
        if inner is not None:
            read_all(inner, definitions)
    return definitions


def test_all_files_parse(bundle_files: list[Path]) -> None:
    files = bundle_files
    assert importlib.metadata.version("openplx-bundles") != "0.19.0" or len(files) == 465
    for file in files:
        report = Report(str(file))
        assert parse(file.read_text(encoding="utf-8"), report) is not None, report.errors[0]


# Takes seconds: make test has the types of all bundles.
@pytest.mark.nightly
@pytest.mark.usefixtures("bundles")
def test_every_line_of_every_model_can_be_worked_out() -> None:
    """Each name found, each type known, each value of the type that it is assigned to: 490 models and constants."""
    report = Report("")
    found = Library(Roots(()), report)
    definitions: list[Definition] = []
    for name in sorted(found.bundle_names()):
        bundle = found.bundle(name)
        assert bundle is not None
        assert not bundle.shipped, "one that is built in is used in place of one that is installed"
        read_all(bundle, definitions)
    assert len(definitions) > 465 - len(found.bundle_names())
    check(definitions, Instances(Models(found), evaluate), report)
    assert [str(error) for error in report.errors] == []
    # Methods that other programs have the code of.
    assert all("a method without code" in str(warning) for warning in report.warnings)


BUILT_IN_BUNDLES = sorted(folder.name for folder in BUILT_IN.iterdir())
# Said otherwise here, so that it can be told what a file gives.
UNSET = {
    *("Physics3D.Bodies.Inertia.mass", "Physics3D.Bodies.Inertia.tensor"),
    *("DriveTrain.Differential.connectors", "Physics.Signals.Input.type", "Physics.Signals.Output.type"),
}
# Of bundles that are newer than those on PyPI; the public test models of AGXUnity have these.
NEWER = "Visuals.Materials.SurfaceFeatures."


@pytest.mark.parametrize("name", BUILT_IN_BUNDLES)
def test_built_in_types_are_those_of_the_bundles(name: str, bundles: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each model, its attributes, their types and the values that they start with."""
    report = Report("")
    real, ours = Library(Roots(()), report), Library(Roots(()), report)
    real.bundle(name)
    real_instances = Instances(Models(real), evaluate)
    namespaces = real.bundle(name)
    monkeypatch.delenv("OPENPLX_BUNDLE_PATH")
    bundle = ours.bundle(name)
    assert bundle is not None
    assert bundle.shipped
    instances = Instances(Models(ours), evaluate)
    definitions = read_all(bundle, [])
    assert definitions
    monkeypatch.setenv("OPENPLX_BUNDLE_PATH", str(bundles))
    for definition in definitions:
        if definition.name.startswith(NEWER):
            continue
        at: Namespace | None = namespaces
        *inner, last = definition.name.split(".")[1:]
        for part in inner:
            assert at is not None
            at = at.inner(part)
        assert at is not None
        there = at.definition(last, anywhere=True)
        assert there is not None, definition.name
        if definition.statement.value is not None:
            found, expected = (i.constant(d, d.place) for i, d in ((instances, definition), (real_instances, there)))
            assert found == expected
            continue
        of = instances.root(instances.models.of(definition, definition.place))
        like = real_instances.root(real_instances.models.of(there, there.place))
        assert of.model.ancestors <= like.model.ancestors, definition.name
        for attribute in of.names():
            assert like.has(attribute), f"{definition.name}.{attribute}"
            if any(f"{ancestor}.{attribute}" in UNSET for ancestor in of.model.ancestors):
                continue
            value, expected = of.value(attribute), like.value(attribute)
            if isinstance(value, Object):
                assert value.model.name == expected.model.name
            elif type(value).__name__ == "Undefined":
                assert type(expected).__name__ in ("Undefined", "Object")
            else:
                assert value == expected, f"{definition.name}.{attribute}"
    assert report.errors == []
