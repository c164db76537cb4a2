"""What bad inputs are told: a corpus of them, and the differences between two checkouts of sim_node.

    .venv/bin/python tools/error_corpus.py harvest CORPUS [TESTS...]   once, in the older checkout
    python3 tools/error_corpus.py compare CORPUS OLDER NEWER           two checkouts, each with its .venv

The corpus has three kinds of cases:

- what the tests hold: while they run, each call of a function of sim_node that ends with an exception is kept with its
  arguments and with the files of the test's folder, as is each command line that ends with an exit code other than 0;
- files: each world that the tests load and that is refused;
- mistakes: the worlds in config/, docs/ and test/, with values replaced by values of other kinds, signs and sizes, with
  keys misspelt, and with entries left out.

`compare` runs all cases with each checkout and compares messages as sets of lines, regardless of their order. It lists
each difference, and then exits with 1. What a checkout without changes is told is kept in the corpus.
"""

from __future__ import annotations

import argparse
import ast
import base64
import contextlib
import copy
import faulthandler
import hashlib
import importlib
import inspect
import io
import json
import operator
import os
import pickle
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path, PosixPath
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
WRONG = ("oops", -3.5, 1e30, 0, True, None, [1, 2], {"x": 1}, ".nan")
PER_TEXT = 5
MARKERS = ("frames", "bodies", "vehicles", "bases", "motions", "forces", "physics", "actuators", "systems", "scene")
# Rooms whose tests hold bad inputs, and whose tests need neither a ROS graph nor a browser.
ROOMS = (
    "assembly autopilot cli control ecs extensions frames geometry gym physics programs recording scenario scene "
    "schematic sdf sensors session simulation sweep tree viewing wire world"
)
MAX_FOLDER = 1 << 20
MAX_CALL = 1 << 18
# Seconds: a command that takes longer is not kept, and a case that takes so much longer has hung.
MAX_COMMAND, HUNG = 3, 300
# Doors of their own: what they call is not kept a second time.
LOAD = "sim_node.world.load"


# ---- Worlds with one mistake --------------------------------------------------------------------------------------


def texts() -> Iterator[tuple[str, str]]:
    """Yield the name and text of each world in the checkout that reads as a mapping."""
    for path in sorted((ROOT / "config/worlds").glob("*.yaml")):
        yield path.name, path.read_text()
    for path in sorted((ROOT / "docs").rglob("*.md")):
        for index, block in enumerate(re.findall(r"```yaml[^\n]*\n(.*?)```", path.read_text(), re.DOTALL)):
            yield f"{path.name}:{index}", block
    for path in sorted((ROOT / "test").rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" in node.value:
                yield f"{path.name}:{node.lineno}", textwrap.dedent(node.value)


def worlds() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the data of each text that looks like a world, once."""
    import yaml

    seen: set[str] = set()
    for name, text in texts():
        try:
            data = yaml.load(text, yaml.CSafeLoader)
        except yaml.YAMLError:
            continue
        if not isinstance(data, dict) or not any(key in data for key in MARKERS):
            continue
        key = repr(data)
        if key not in seen:
            seen.add(key)
            yield name, data


def paths(data: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each value below `data`."""
    entries = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in entries:
        yield (*at, key)
        yield from paths(value, (*at, key))


def mutated(data: dict[str, Any], at: tuple[Any, ...], how: int) -> dict[str, Any]:
    """Return a copy with one mistake: another value, or for the two last numbers a misspelt key or no entry."""
    changed: Any = copy.deepcopy(data)
    holder = changed
    for key in at[:-1]:
        holder = holder[key]
    if how < len(WRONG):
        holder[at[-1]] = WRONG[how]
    elif how == len(WRONG) and isinstance(holder, dict):
        holder[f"{at[-1]}x"] = holder.pop(at[-1])
    else:
        del holder[at[-1]]
    return changed  # type: ignore[no-any-return]


def mistakes() -> Iterator[dict[str, Any]]:
    """Yield a case for each of some mistakes in each world."""
    import yaml

    for name, data in worlds():
        every = [(at, how) for at in paths(data) for how in range(len(WRONG) + 2)]
        for at, how in random.Random(name).sample(every, min(PER_TEXT, len(every))):
            text = yaml.dump(mutated(data, at, how), Dumper=yaml.CSafeDumper, sort_keys=False)
            yield {"kind": "mistake", "test": f"{name} {'.'.join(map(str, at))} #{how}", "text": text}


# ---- Harvest: a pytest plugin -------------------------------------------------------------------------------------


class Corpus:
    """A folder with the cases, one JSON object a line, and the files of their folders by hash."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cases = folder / "cases.jsonl"

    def keep(self, case: dict[str, Any]) -> None:
        with self.cases.open("a") as file:
            file.write(json.dumps(case) + "\n")

    def kept(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.cases.read_text().splitlines()]

    def snapshot(self, folder: Path) -> dict[str, str] | None:
        """Return the contents of a folder by name: hash, `-> target` or `/`; None if they cannot be kept."""
        found: dict[str, str] = {}
        total = 0
        for path in sorted(folder.rglob("*")) if folder.is_dir() else []:
            name = str(path.relative_to(folder))
            try:
                name.encode()
            except UnicodeEncodeError:
                return None
            if path.is_symlink():
                found[name] = f"-> {os.readlink(path)}"
            elif path.is_dir():
                found[name] = "/"
            elif path.is_file():
                total += path.stat().st_size
                if total > MAX_FOLDER or len(found) > 300:
                    return None
                content = path.read_bytes()
                found[name] = hashlib.sha256(content).hexdigest()
                blob = self.folder / "blobs" / found[name]
                if not blob.exists():
                    blob.parent.mkdir(parents=True, exist_ok=True)
                    blob.write_bytes(content)
            else:
                return None
        return found

    def restore(self, contents: dict[str, str], folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for name, value in contents.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if value == "/":
                path.mkdir(exist_ok=True)
            elif value.startswith("-> "):
                path.symlink_to(value[3:])
            else:
                shutil.copyfile(self.folder / "blobs" / value, path)


class Packer(pickle.Pickler):
    """Packs arguments, with paths in the tests' folder and in the checkout apart from where these are."""

    def __init__(self, file: io.BytesIO, temporary: str) -> None:
        super().__init__(file, 4)
        self._temporary = temporary
        self.folders: set[str] = set()

    def persistent_id(self, value: Any) -> Any:
        if type(value) not in (str, PosixPath):
            return None
        text = str(value)
        kind = "text" if type(value) is str else "path"
        if self._temporary in text:
            for found in re.findall(re.escape(self._temporary) + r"/([^/\s:'\"]+)", text):
                self.folders.add(found)
            return kind, text.replace(self._temporary, "{DIR}")
        if str(ROOT) in text:
            return kind, text.replace(str(ROOT), "{ROOT}")
        return None

    def reducer_override(self, value: Any) -> Any:
        name = getattr(value, "__module__", None) if isinstance(value, type) or callable(value) else None
        if isinstance(value, type) and name and not name.startswith("sim_node") and name in sys.modules:
            if getattr(sys.modules[name], "__file__", None) and str(ROOT / "test") in str(sys.modules[name].__file__):
                raise pickle.PicklingError(f"{value} is of a test")
        return NotImplemented


class Unpacker(pickle.Unpickler):
    def __init__(self, content: bytes, folder: str, root: str) -> None:
        super().__init__(io.BytesIO(content))
        self._folder, self._root = folder, root

    def persistent_load(self, pid: Any) -> Any:
        kind, text = pid
        text = text.replace("{DIR}", self._folder).replace("{ROOT}", self._root)
        return text if kind == "text" else Path(text)

    def find_class(self, module: str, name: str) -> Any:
        try:
            return super().find_class(module, name)
        except (ImportError, AttributeError):
            if not module.startswith("sim_node"):
                raise
            return _elsewhere(module, name)


def _elsewhere(module: str, name: str) -> Any:
    """Return what has a name in a room above a module, or in another file of that room: it may have moved."""
    first, _, rest = name.partition(".")
    parts = module.split(".")
    package = Path(sys.modules["sim_node"].__file__ or "").parent
    for length in range(len(parts) - 1, 0, -1):
        room = package.joinpath(*parts[1:length])
        files = sorted(room.rglob("*.py")) if length > 1 else []
        defines = re.compile(rf"^(?:class|def) {first}\b|^{first}\b.*=", re.MULTILINE)
        for inner in (
            ".".join(parts[:length]),
            *(
                ".".join(("sim_node", *file.relative_to(package).with_suffix("").parts))
                for file in files
                if defines.search(file.read_text())
            ),
        ):
            with contextlib.suppress(ImportError, AttributeError):
                found = getattr(importlib.import_module(inner), first)
                return operator.attrgetter(rest)(found) if rest else found
    raise AttributeError(f"{module} has no {name}")


class Harvest:
    """Keeps the calls of sim_node by tests that end with an exception."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.seen: set[str] = set()
        self.lost: Counter[str] = Counter()
        self.temporary = ""
        self.test = ""
        self.busy = False

    # pytest's hooks

    def pytest_sessionstart(self, session: Any) -> None:
        self.temporary = str(session.config._tmp_path_factory.getbasetemp())
        self._watch_commands()
        self._watch_worlds()
        self._watch_exceptions()

    def pytest_runtest_setup(self, item: Any) -> None:
        self.test = item.nodeid

    def pytest_sessionfinish(self) -> None:
        print(f"\nnot kept: {dict(self.lost.most_common(12))}")

    # What is watched

    def _watch_commands(self) -> None:
        module = importlib.import_module("sim_node.cli.main")
        inner = module.main

        def main(argv: Any = None) -> Any:
            began = time.monotonic()
            code: Any = 1
            try:
                code = inner(argv)
                return code
            except SystemExit as ended:
                code = ended.code
                raise
            finally:
                if code and argv is not None and time.monotonic() - began < MAX_COMMAND and code != 130:
                    self._keep("command", list(map(str, argv)))

        module.main = main  # type: ignore[attr-defined]

    def _watch_worlds(self) -> None:
        module = importlib.import_module(LOAD)
        inner = module._checked  # type: ignore[attr-defined]

        def checked(file: Path, shown: Path, allow: Any, model: Any, **more: Any) -> Any:
            allow = tuple(map(Path, allow))
            try:
                return inner(file, shown, allow, model, **more)
            except module.WorldError:  # type: ignore[attr-defined]
                # A text is in a folder that is gone after the call.
                text = file.read_bytes().decode("latin-1") if str(shown) == "<text>" else None
                self._keep("file", [Path(file), text, file.suffix, allow, model])
                raise

        module._checked = checked  # type: ignore[attr-defined]

    def _watch_exceptions(self) -> None:
        import pytest
        from _pytest import raises as pytest_raises

        for context in (pytest_raises.RaisesExc, pytest_raises.RaisesGroup):
            inner = context.__exit__

            def leave(this: Any, kind: Any, value: Any, trace: Any, *, inner: Any = inner) -> Any:
                if value is not None and trace is not None:
                    frames = []
                    while trace is not None:
                        frames.append(trace.tb_frame)
                        trace = trace.tb_next
                    self._call_of(frames)
                return inner(this, kind, value, value.__traceback__ if value is not None else None)

            context.__exit__ = leave  # type: ignore[method-assign]
        assert pytest.raises
        problems = importlib.import_module("sim_node.world.problems")
        begin = problems.WorldError.__init__

        def made(this: Any, *given: Any, **named: Any) -> None:
            begin(this, *given, **named)
            if not self.busy:
                frames: list[FrameType] = []
                frame = sys._getframe(1)
                while frame is not None:
                    frames.append(frame)
                    frame = frame.f_back  # type: ignore[assignment]
                self._call_of(frames[::-1])

        problems.WorldError.__init__ = made

    # What is kept

    def _call_of(self, frames: list[FrameType]) -> None:
        """Keep the call of the first function of sim_node among frames, outermost first, that can be found by name."""
        if self.busy:
            return
        for frame in frames:
            module = frame.f_globals.get("__name__", "")
            if not module.startswith("sim_node.") or module in (LOAD, "sim_node.cli.main", "sim_node.lazy"):
                if module in (LOAD, "sim_node.cli.main"):
                    return  # kept already
                continue
            found = _callable_of(module, frame.f_code)
            if found is None:
                continue
            door, drop = found
            names = frame.f_code.co_varnames
            code = frame.f_code
            count = code.co_argcount
            held = frame.f_locals
            try:
                given = [held[name] for name in names[:count]][drop:]
                named = {name: held[name] for name in names[count : count + code.co_kwonlyargcount]}
                rest = count + code.co_kwonlyargcount
                if code.co_flags & inspect.CO_VARARGS:
                    given += held[names[rest]]
                    rest += 1
                if code.co_flags & inspect.CO_VARKEYWORDS:
                    named |= held[names[rest]]
            except KeyError:
                self.lost["argument deleted"] += 1
                return
            self._keep("call", [given, named], module=module, door=door)
            return

    def _keep(self, kind: str, value: Any, **more: str) -> None:
        if self.busy:
            return
        self.busy = True
        try:
            self._kept(kind, value, **more)
        finally:
            self.busy = False

    def _kept(self, kind: str, value: Any, **more: str) -> None:
        cwd = os.getcwd()
        file = io.BytesIO()
        packer = Packer(file, self.temporary)
        try:
            packer.dump([value, cwd])
        except Exception as error:
            self.lost[f"{kind}: {type(error).__name__} {more.get('door', '')}"] += 1
            return
        content = file.getvalue()
        if len(content) > MAX_CALL:
            self.lost[f"{kind}: large"] += 1
            return
        folders = {name: self.corpus.snapshot(Path(self.temporary, name)) for name in sorted(packer.folders)}
        if None in folders.values():
            self.lost[f"{kind}: large folder"] += 1
            return
        case = {"kind": kind, **more, "packed": base64.b85encode(content).decode(), "folders": folders}
        key = hashlib.sha256(json.dumps(case, sort_keys=True).encode()).hexdigest()
        if key not in self.seen:
            self.seen.add(key)
            self.corpus.keep({**case, "test": self.test})


def _callable_of(module: str, code: CodeType) -> tuple[str, int] | None:
    """Return the qualified name of a function by its code, and how many of its first arguments are bound."""
    name = code.co_qualname
    if "<locals>" in name:
        return None
    parts = name.split(".")
    found: Any = sys.modules.get(module)
    holder: Any = None
    for part in parts:
        holder, found = found, inspect.getattr_static(found, part, None)
        if isinstance(found, classmethod | staticmethod):
            found = found.__func__
    inner = inspect.unwrap(found) if callable(found) else found
    if getattr(inner, "__code__", None) is not code:
        return None
    if parts[-1] == "__init__":
        return ".".join(parts[:-1]), 1
    if parts[-1].startswith("__"):
        return None
    bound = isinstance(inspect.getattr_static(holder, parts[-1]), classmethod) if len(parts) > 1 else False
    return name, int(bound)


def pytest_configure(config: Any) -> None:
    """Register the plugin; the variable names the folder of the corpus."""
    if "ERROR_CORPUS" in os.environ:
        config.pluginmanager.register(Harvest(Corpus(Path(os.environ["ERROR_CORPUS"]))))


def harvest(folder: Path, tests: list[str]) -> None:
    """Write a corpus, or add to it: run the tests with the plugin, and add the mistakes."""
    folder.mkdir(parents=True, exist_ok=True)
    corpus = Corpus(folder)
    if not corpus.cases.exists():
        for case in mistakes():
            corpus.keep(case)
    chosen = tests or [str(ROOT / "test" / room) for room in ROOMS.split()] + [
        str(path) for path in sorted((ROOT / "test").glob("test_*.py"))
    ]
    here = str(Path(__file__).resolve().parent)
    environment = {**os.environ, "ERROR_CORPUS": str(folder), "PYTHONPATH": here}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "error_corpus", "-o", "timeout=300", *chosen]
    subprocess.run(command, cwd=ROOT, env=environment, check=False)
    print(Counter(case["kind"] for case in corpus.kept()))


# ---- Replay: with the sim_node of one checkout -----------------------------------------------------------------------


class Hung(BaseException):
    """A case takes too long."""


def _hang(*_: object) -> None:
    raise Hung


def replay(folder: Path, root: Path, work: Path, places: list[int], out: Path) -> None:
    """Write what the cases at some places are told by the sim_node that this Python imports."""
    faulthandler.enable()
    corpus = Corpus(folder)
    signal.signal(signal.SIGALRM, _hang)
    os.environ.update(COLUMNS="100", NO_COLOR="1", HOME=str(work / "home"), PIP_NO_INDEX="1")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    results: list[list[str]] = []
    times: list[float] = []
    here = work / "t"
    cases = corpus.kept()
    for case in map(cases.__getitem__, places):
        began = time.process_time()
        shutil.rmtree(here, ignore_errors=True)
        here.mkdir(parents=True)
        os.chdir(here)
        signal.setitimer(signal.ITIMER_REAL, HUNG)
        try:
            found = TOLD[case["kind"]](case, corpus, here, root)
        except Hung:
            found = [f"hung: took more than {HUNG} s"]
        except BaseException as error:
            found = _lines(error)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        results.append(sorted({_placeless(line, here, root) for each in found for line in each.splitlines()}))
        times.append(time.process_time() - began)
    out.write_text(json.dumps({"told": results, "seconds": times}))


def _placeless(line: str, here: Path, root: Path) -> str:
    line = line.replace(str(here), "DIR").replace(str(root), "ROOT")
    line = re.sub(r"0x[0-9a-f]{6,}", "0x", line)
    return re.sub(r"sim_node_text_\w+", "sim_node_text_", line)


def _lines(error: BaseException) -> list[str]:
    problems = getattr(error, "problems", None)
    if problems is not None:
        return [type(error).__name__, *map(str, problems)]
    return [f"{type(error).__name__}: {error}"]


def _quietly(call: Callable[[], Any]) -> list[str]:
    """Return what a call is told: its exception, and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            call()
            found = ["valid"]
        except Hung:
            raise
        except BaseException as error:
            found = _lines(error)
    return found + [f"warning: {each.message}" for each in caught if "sim_node" in str(each.category)]


def _told_mistake(case: dict[str, Any], corpus: Corpus, here: Path, root: Path) -> list[str]:
    from sim_node.world import WorldError, lay_out, load
    from sim_node.world.writers.yaml import to_yaml

    for every in (root / "config/worlds").iterdir():
        (here / every.name).symlink_to(every)
    Path("w.yaml").write_text(case["text"])
    text: list[str] = []

    def door() -> None:
        world = load("w.yaml")
        lay_out(world)
        try:
            text.append(to_yaml(world))
        except WorldError as error:
            text.extend(_lines(error))

    return _quietly(door) + text


def _unpacked(case: dict[str, Any], corpus: Corpus, here: Path, root: Path) -> Any:
    for name, contents in case["folders"].items():
        corpus.restore(contents, here / name)
    value, cwd = Unpacker(base64.b85decode(case["packed"]), str(here), str(root)).load()
    if Path(cwd).is_dir():
        os.chdir(cwd)
    return value


def _told_file(case: dict[str, Any], corpus: Corpus, here: Path, root: Path) -> list[str]:
    from sim_node.world import lay_out, load

    path, text, suffix, allow, model = _unpacked(case, corpus, here, root)
    if text is not None:
        path = here / f"text{suffix}"
        path.write_bytes(text.encode("latin-1"))
    return _quietly(lambda: lay_out(load(path, allow, model)))


def _told_command(case: dict[str, Any], corpus: Corpus, here: Path, root: Path) -> list[str]:
    from sim_node.cli.main import main

    words = _unpacked(case, corpus, here, root)
    out, err = io.StringIO(), io.StringIO()
    code: Any = "none"
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(words)
        except SystemExit as ended:
            code = ended.code
    return [f"exit {code}", out.getvalue(), err.getvalue()]


def _told_call(case: dict[str, Any], corpus: Corpus, here: Path, root: Path) -> list[str]:
    try:
        given, named = _unpacked(case, corpus, here, root)
        found: Any = Unpacker(b"", "", "").find_class(case["module"], case["door"])
    except (ImportError, AttributeError) as error:
        return [f"moved: {error}"]
    return _quietly(lambda: found(*given, **named))


TOLD = {"mistake": _told_mistake, "file": _told_file, "command": _told_command, "call": _told_call}


# ---- Comparison ---------------------------------------------------------------------------------------------------

_KNOWN = re.compile(r"\((?:known: )?([a-z_0-9, ]+)\)")


# How long something takes on this machine, which refusals tell.
_MEASURED = re.compile(r"about [\d.e+]+ (?=(?:s|minutes|hours|days)\b)")


def _regardless(line: str) -> str:
    """Return a line with its lists of keys in order of the alphabet, and without measured times."""
    line = re.sub(r"sim_node_(bag|text)_\w+", r"sim_node_\1_", _MEASURED.sub("about ", line))
    return _KNOWN.sub(lambda found: f"({', '.join(sorted(found[1].split(', ')))})", line)


def compare(folder: Path, roots: list[Path], most: int, kinds: set[str], only: str) -> int:
    """Print each case that the two checkouts are told something else of. Return how many."""
    cases = Corpus(folder).kept()
    chosen = [
        place
        for place, case in enumerate(cases)
        if case["kind"] in kinds and only in f"{case['test']} {case.get('module', '')}.{case.get('door', '')}"
    ]
    told: list[dict[int, list[str]]] = []
    seconds = []
    for root in roots:
        # Answers of a checkout without changes are kept.
        commit = subprocess.check_output(["git", "describe", "--always", "--dirty", "--abbrev=40"], cwd=root, text=True)
        kept = folder / "told" / f"{commit.strip()}.json"
        known = json.loads(kept.read_text()) if kept.exists() and "dirty" not in commit else {}
        if lacking := [place for place in chosen if _key(cases[place]) not in known]:
            found, took = _run(folder, root, lacking)
            seconds.append(took)
            known |= {_key(cases[place]): lines for place, lines in zip(lacking, found, strict=True)}
            if "dirty" not in commit:
                kept.parent.mkdir(exist_ok=True)
                part = kept.with_suffix(f".{os.getpid()}")
                part.write_text(json.dumps(known))
                part.replace(kept)
        told.append({place: known[_key(cases[place])] for place in chosen})
    differing, moved = 0, Counter[str]()
    for place in chosen:
        case, first, second = cases[place], *(each[place] for each in told)
        one, other = ({_regardless(line) for line in each} for each in (first, second))
        if one == other:
            continue
        if any(line.startswith("moved:") for line in other):
            moved[next(line for line in second if line.startswith("moved:"))] += 1
            continue
        differing += 1
        if differing <= most:
            print(f"{case['kind']} {case['test']} {case.get('module', '')} {case.get('door', '')}")
            for line in sorted(one ^ other)[:12]:
                print("  -" if line in one else "  +", line[:400])
    for reason, count in moved.most_common():
        print(f"not comparable, {count} cases: {reason}")
    counts = ", ".join(f"{count} {kind}s" for kind, count in Counter(cases[place]["kind"] for place in chosen).items())
    refused = sum("valid" not in each for each in told[1].values())
    print(
        f"{len(chosen)} cases ({counts}), {refused} refused; {differing} differ, {sum(moved.values())} moved; "
        f"{sum(seconds):.0f} s of processor time"
    )
    return differing


def _key(case: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(case, sort_keys=True).encode()).hexdigest()[:20]


def _run(folder: Path, root: Path, places: list[int]) -> tuple[list[list[str]], float]:
    """Return what the cases at some places are told by the sim_node of a checkout, and the processor time in s."""
    with tempfile.TemporaryDirectory(prefix="corpus_") as name:
        work, chosen, out, log = (Path(name, each) for each in ("work", "places.json", "out.json", "log"))
        work.mkdir()
        chosen.write_text(json.dumps(places))
        command = [str(root / ".venv/bin/python"), __file__, "replay"]
        command += map(str, (folder, root, work, chosen, out))
        environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONHASHSEED": "0", "ROS_LOG_DIR": name}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        with log.open("w") as file:
            code = subprocess.call(command, env=environment, cwd=work, stdout=file, stderr=file)
        if code:
            sys.exit(f"{root}: the replay failed with {code}\n{log.read_text()[-3000:]}")
        found = json.loads(out.read_text())
    return found["told"], sum(found["seconds"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("harvest")
    making.add_argument("corpus", type=Path)
    making.add_argument("tests", nargs="*")
    comparing = commands.add_parser("compare")
    comparing.add_argument("corpus", type=Path)
    comparing.add_argument("checkouts", type=Path, nargs=2)
    comparing.add_argument("--most", type=int, default=200, help="differences to print")
    comparing.add_argument("--kinds", default=",".join(TOLD), help="such as command,file")
    comparing.add_argument("--only", default="", help="a part of the name of a test, module or function")
    replaying = commands.add_parser("replay")
    for name in ("corpus", "root", "work", "places", "out"):
        replaying.add_argument(name, type=Path)
    given = parser.parse_args()
    if given.command == "harvest":
        harvest(given.corpus.resolve(), given.tests)
    elif given.command == "replay":
        replay(given.corpus, given.root, given.work, json.loads(given.places.read_text()), given.out)
    else:
        folder, roots = given.corpus.resolve(), [each.resolve() for each in given.checkouts]
        return int(compare(folder, roots, given.most, set(given.kinds.split(",")), given.only) > 0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
