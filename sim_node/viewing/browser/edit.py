"""A tab for requests to a run, with a form for each request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from sim_node.simulation.requests import NEEDED, REQUESTS, Argument, ContentOf, NameOf
from sim_node.viewing.browser.answering import answer
from sim_node.world.quantities import Word

_ASK = "Ask"
# Maximum number of names in a dropdown; if there are more, a text field is used.
MAX_NAMES = 100


class Editor(Protocol):
    """Changes the world of a run. Methods may be called from any thread, and raise the reason of a refusal."""

    def ask(self, name: str, /, **given: Any) -> str:
        """Make a request; see `sim_node.simulation.requests`. Returns what was done."""

    def named(self, holds: NameOf) -> Sequence[str]:
        """Return the names of a kind in the run's present world. Does not wait for the run."""

    def loose(self) -> Sequence[str]:
        """Return the frames of the free-floating bodies. Does not wait for the run."""

    def push(self, name: str, velocity: Sequence[float]) -> None:
        """Add a velocity (3,) in the fixed frame, m/s, to that of a free-floating body."""


class EditTab:
    """The tab.

    Args:
        server: viser's server.
        editor: Changes the world.
    """

    def __init__(self, server: Any, editor: Editor) -> None:
        self._server, self._editor = server, editor
        gui = server.gui
        self._request = gui.add_dropdown("Request", tuple(REQUESTS), hint="what is asked of the run")
        self._form = gui.add_folder("Arguments")
        self._fields: list[tuple[Argument, Any]] = []
        self._button = gui.add_button_group("World", (_ASK,))
        self._request.on_update(lambda event: self._show_form())
        self._button.on_click(lambda event: answer(event, self._ask))
        self._show_form()

    def _show_form(self) -> None:
        """Show a field for each argument of the selected request."""
        request, gui = REQUESTS[self._request.value], self._server.gui
        for _, field in self._fields:
            field.remove()
        shown = [each for each in request.arguments if not isinstance(each.holds, ContentOf)]
        with self._form:
            self._fields = [(each, self._field(gui, each)) for each in shown]

    def _ask(self) -> str:
        request, given = REQUESTS[self._request.value], dict[str, Any]()
        for each, field in self._fields:
            if isinstance(field.value, bool):
                given[each.name] = field.value
            elif text := field.value.strip():
                given[each.name] = each.read(text)
        return self._editor.ask(request.name, **given)

    def _field(self, gui: Any, argument: Argument) -> Any:
        """Add the field for an argument."""
        label, default = argument.name.replace("_", " ").capitalize(), argument.default
        if argument.kind is bool:
            return gui.add_checkbox(label, default, hint=argument.about)
        if isinstance(argument.holds, Word):
            return gui.add_dropdown(label, tuple(argument.holds.allowed), initial_value=default, hint=argument.about)
        if isinstance(argument.holds, NameOf) and 0 < len(names := self._editor.named(argument.holds)) <= MAX_NAMES:
            return gui.add_dropdown(label, (*([] if default is NEEDED else [default]), *names), hint=argument.about)
        text = "" if default in (None, NEEDED) else str(default)
        return gui.add_text(label, text, hint=argument.about)
