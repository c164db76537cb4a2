"""The layout of the page as text: what the address of a page says about its settings."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

# Longest value that is read, in characters, and what separates the parts of lists.
MAX_TEXT = 8000
_BETWEEN = "|"


class PageSetting(NamedTuple):
    """A setting as text: `read` returns it, `write` sets it and ignores what cannot be set."""

    read: Callable[[], str]
    write: Callable[[str], None]


class PageLayout:
    """The settings of a panel by the names that they have in addresses. Those that are as at the start are left out."""

    def __init__(self) -> None:
        self._settings: dict[str, PageSetting] = {}
        self._first: dict[str, str] = {}

    def __iter__(self) -> Any:
        """Return the names of the settings."""
        return iter(tuple(self._settings))

    def keep(self, name: str, setting: PageSetting) -> None:
        """Add a setting, or replace it after its element was made anew."""
        self._settings[name] = setting
        self._first.setdefault(name, setting.read())

    def drop(self, name: str) -> None:
        """Leave out a setting, whose element is gone."""
        self._settings.pop(name, None)

    def now(self) -> dict[str, str]:
        """Return the settings that have changed since the start."""
        texts = {name: setting.read() for name, setting in self._settings.items()}
        return {name: text for name, text in texts.items() if text != self._first[name]}

    def set(self, wanted: Mapping[str, str]) -> None:
        """Set what is known of these settings, in the order in which they were added."""
        for name, setting in tuple(self._settings.items()):
            text = wanted.get(name)
            if isinstance(text, str) and len(text) <= MAX_TEXT:
                setting.write(text)


def element(handle: Any) -> PageSetting:
    """Return the setting of an element of viser's panel: a checkbox, a dropdown, a text, or a slider."""

    def read() -> str:
        value = handle.value
        return str(int(value)) if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)

    def write(text: str) -> None:
        options = getattr(handle, "options", None)
        if options is not None:
            if text in options:
                handle.value = text
        elif isinstance(handle.value, bool):
            if text in ("0", "1"):
                handle.value = text == "1"
        elif isinstance(handle.value, (int, float)):
            try:
                number = float(text)
            except ValueError:
                return
            if math.isfinite(number):
                handle.value = min(max(number, handle.min), handle.max)
        else:
            handle.value = text

    return PageSetting(read, write)


def listed(read: Callable[[], Sequence[str]], write: Callable[[list[str]], None]) -> PageSetting:
    """Return the setting of a list of texts."""
    return PageSetting(
        lambda: _BETWEEN.join(read()), lambda text: write([each for each in text.split(_BETWEEN) if each])
    )
