"""The tab that shows the messages of a topic as text."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any, Protocol

NOTHING = "none"
_NONE = "choose a topic to see its last message"
# Maximum number of lines of a message, and of characters of a line.
MAX_LINES, MAX_COLUMNS = 200, 400


class MessageReader(Protocol):
    """Reads the messages of one topic at a time. Called from the page's threads."""

    def topics(self) -> Mapping[str, str]:
        """Return the types of the topics, by name."""

    def choose(self, topic: str | None) -> None:
        """Select the topic to read from now on, or none."""

    def text(self) -> str | None:
        """Return the newest message of the selected topic, or why it cannot be read; None before the first message."""


class MessagesTab:
    """Shows the newest message of the selected topic.

    Args:
        gui: viser's panel.
        texts: Reads the messages.

    Attributes:
        topic: The element that selects the topic.
        text: The displayed text: the type and the newest message.
    """

    def __init__(self, gui: Any, texts: MessageReader) -> None:
        self._texts = texts
        self._types: Mapping[str, str] = dict(texts.topics())
        self.topic = gui.add_dropdown("Topic", (NOTHING, *self._types), initial_value=NOTHING)
        self.topic.on_update(self._choose)
        self._message = gui.add_html(_html(_NONE))
        self.text = _NONE

    def show(self) -> None:
        """Send the text if it has changed, and new topics."""
        types = dict(self._texts.topics())
        if types != self._types:
            self._types = types
            self.topic.options = (NOTHING, *types)
        name = self.topic.value
        message = None if name == NOTHING else self._texts.text()
        text = _NONE if name == NOTHING else f"{types.get(name, '')}\n\n{message or 'no message yet'}"
        if text != self.text:
            self.text = text
            self._message.content = _html(text)

    def _choose(self, event: Any) -> None:
        name = self.topic.value
        self._texts.choose(None if name == NOTHING else name)


def _html(text: str) -> str:
    """Return HTML that shows a text verbatim."""
    lines = [line if len(line) <= MAX_COLUMNS else line[:MAX_COLUMNS] + "…" for line in text.splitlines()]
    more = len(lines) - MAX_LINES
    shown = "\n".join([*lines[:MAX_LINES], *([f"... and {more} more lines"] if more > 0 else [])])
    style = "margin:0 .75em .5em;font-size:.8em;max-height:28em;overflow:auto;white-space:pre"
    # Focusable, so that it can be scrolled with the keyboard.
    return f'<pre style="{style}" tabindex="0" role="region" aria-label="message">{escape(shown)}</pre>'
