"""Scripts that define worlds: running them as programs, and finding the user's line of an error."""

from __future__ import annotations

import io
import signal
import sys
import sysconfig
import threading
import types
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from sim_node.extensions.elodin.capture import Captured, ScriptStop, capturing
from sim_node.extensions.elodin.doubles import use_doubles
from sim_node.extensions.elodin.errors import EcsError, MissingJax, shown_path
from sim_node.interrupt import SIGNALS
from sim_node.text import MAX_LINE, shown
from sim_node.world.problems import RunFailed, Where, WorldError

_NEEDED = "a world in Python ends with world.run(system, sim_time_step=...)"
_PACKAGE = Path(__file__).resolve().parents[2]
_LIBRARIES = tuple(Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "purelib", "platlib"))
_INSTALLED = ("site-packages", "dist-packages")


class ScriptError(EcsError):
    """A script failed, or did not define a world."""


@dataclass
class _Program:
    """The script that was read last: its folder, and the modules that it imported from there."""

    folder: str = ""
    modules: dict[str, Path] = field(default_factory=dict)

    def forget(self) -> None:
        """Remove its folder from `sys.path` and its modules from `sys.modules`: other scripts have their own."""
        if self.folder in sys.path:
            sys.path.remove(self.folder)
        for name in self.modules:
            sys.modules.pop(name, None)


_last = _Program()


def captured_world(path: Path) -> tuple[Captured, tuple[Path, ...]]:
    """Run a script until World.run, as `python PATH` does.

    Its output goes to standard error, so that it does not mix with the output of a command. Signals end it at once.
    The modules in its folder remain importable for its callbacks, with lowest priority, until the next script is read.

    Args:
        path: The script.

    Returns:
        What it passed to World.run, and its files: the script, then the modules that it imported from its folder.

    Raises:
        ScriptError: It failed, or ended without World.run.
        WorldError: Its world is invalid.
    """
    use_doubles()  # as its own import of this package would, if the package was not imported yet
    with capturing() as captured, _as_program(path) as module, redirect_stdout(sys.stderr), _signals_raise():
        try:
            exec(compile(_source(path), str(path), "exec", dont_inherit=True), module.__dict__)
        except ScriptStop:
            pass
        except SystemExit as error:
            if not captured:
                message = f"ended by sys.exit({_text(error)}) before World.run; {_NEEDED}"
                raise ScriptError(message, user_line(error, path)) from None
        except (WorldError, KeyboardInterrupt):
            raise
        except BaseException as error:
            raise located(error, path) from None
    if not captured:
        raise ScriptError(f"ended without World.run; {_NEEDED}", Where(shown_path(str(path))))
    return captured[0], (path, *_last.modules.values())


def located(error: BaseException, path: Path, key: str = "") -> ScriptError:
    """Return an error of a script with the user's line that raised it, or that called the code that raised it.

    Args:
        error: The error.
        path: The script.
        key: What failed, such as the name of a callback.

    Returns:
        The error to report.
    """
    text = _text(error)
    message = text if isinstance(error, MissingJax) else f"{type(error).__name__}{': ' if text else ''}{text}"
    if isinstance(error, ModuleNotFoundError) and error.name == "elodin":
        message += "; write `import sim_node.extensions.elodin as el`"
    return ScriptError(message, user_line(error, path), key)


@contextmanager
def running(path: Path) -> Iterator[None]:
    """Turn errors of a script's systems and callbacks into RunFailed, with the script's line.

    Args:
        path: The script.

    Raises:
        RunFailed: The script's own code failed in the block. Its cause is the error.
    """
    try:
        yield
    except WorldError as error:
        raise RunFailed(str(error)) from error
    except Exception as error:
        raise RunFailed(str(located(error, path))) from error


def user_line(error: BaseException, path: Path) -> Where:
    """Return the innermost line of a script, or of a module in its folder, that an error passed through.

    Args:
        error: The error.
        path: The script.

    Returns:
        File, line and column; for a syntax error, its location.
    """
    if isinstance(error, SyntaxError) and error.filename:
        return Where(shown_path(error.filename), error.lineno or 0, error.offset or 0)
    where, folder = Where(shown_path(str(path))), path.resolve().parent
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if file == str(path) or _is_of(folder, file):
            where = Where(shown_path(file), trace.tb_lineno, 1)
        trace = trace.tb_next
    return where


def _source(path: Path) -> bytes:
    with io.open_code(str(path.absolute())) as file:
        return file.read()


def _text(error: BaseException) -> str:
    """Return the text of an error on one line, cut to a length."""
    try:
        text = str(error.msg if isinstance(error, SyntaxError) else error)
    except Exception:
        return "<a text that cannot be printed>"
    return shown(" ".join(text[: 2 * MAX_LINE].split()), MAX_LINE)


def _is_of(folder: Path, name: str) -> bool:
    """Return whether a file belongs to the scripts of a folder, and not to Python, a library or this package."""
    file = Path(name)
    if name.startswith("<") or not file.exists():
        return False
    file = file.resolve()
    if not file.is_relative_to(folder) or any(part in _INSTALLED for part in file.parts):
        return False
    return not any(file.is_relative_to(other) for other in (*_LIBRARIES, _PACKAGE))


@contextmanager
def _as_program(path: Path) -> Iterator[types.ModuleType]:
    """Set up what `python PATH` does: the main module, its arguments, and the script's folder first on `sys.path`."""
    global _last
    _last.forget()
    module = types.ModuleType("__main__")
    module.__dict__.update(__file__=str(path), __builtins__=__builtins__, __cached__=None)
    folder = str(path.resolve().parent)
    main, arguments, known = sys.modules["__main__"], sys.argv, set(sys.modules)
    sys.modules["__main__"], sys.argv = module, [str(path)]
    sys.path.insert(0, folder)
    try:
        yield module
    finally:
        sys.modules["__main__"], sys.argv = main, arguments
        sys.path.remove(folder)
        _last = _Program(modules=dict(_imported_from(Path(folder), known)))
        if folder not in sys.path:
            # At the end, so that later imports of this package are not resolved there.
            sys.path.append(folder)
            _last.folder = folder


def _imported_from(folder: Path, known: set[str]) -> Iterator[tuple[str, Path]]:
    """Yield the modules of a folder that were not known before."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name not in known and name.partition(".")[0] not in known and isinstance(file, str) and _is_of(folder, file):
            yield name, Path(file)


def modules_beside(script: Path) -> tuple[Path, ...]:
    """Return the files of the modules that a script has imported from its folder; none if it is not the program."""
    main = getattr(sys.modules["__main__"], "__file__", None)
    if main is None or not Path(main).exists() or not script.samefile(main):
        return ()
    found = _imported_from(script.resolve().parent, {"__main__"})
    return tuple(file for _, file in found if file.suffix == ".py")


@contextmanager
def _signals_raise() -> Iterator[None]:
    """Make signals raise KeyboardInterrupt while a block runs, even if they would otherwise only be noted."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    noted = {number: handler for number in SIGNALS if callable(handler := signal.getsignal(number))}

    def interrupt(number: int, frame: types.FrameType | None) -> None:
        noted[signal.Signals(number)](number, frame)
        raise KeyboardInterrupt

    for number in noted:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in noted.items():
            signal.signal(number, handler)
