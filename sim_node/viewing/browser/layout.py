"""The layout of the page as text: the settings that a page's address contains."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

# Maximum length of a value, and the separator of lists.
MAX_TEXT = 8000
_BETWEEN = "|"


class PageSetting(NamedTuple):
    """A setting as text. `read` returns it; `write` sets it and ignores invalid values."""

    read: Callable[[], str]
    write: Callable[[str], None]


class PageLayout:
    """Settings of a panel by their names in addresses. Settings with initial values are left out."""

    def __init__(self) -> None:
        self._settings: dict[str, PageSetting] = {}
        self._first: dict[str, str] = {}

    def __iter__(self) -> Any:
        """Return the names of the settings."""
        return iter(tuple(self._settings))

    def keep(self, name: str, setting: PageSetting) -> None:
        """Add a setting, or replace it after its element was created again."""
        self._settings[name] = setting
        self._first.setdefault(name, setting.read())

    def drop(self, name: str) -> None:
        """Remove a setting whose element is gone."""
        self._settings.pop(name, None)

    def now(self) -> dict[str, str]:
        """Return the settings that differ from their initial values."""
        texts = {name: setting.read() for name, setting in self._settings.items()}
        return {name: text for name, text in texts.items() if text != self._first[name]}

    def set(self, wanted: Mapping[str, str]) -> None:
        """Apply the known settings, in the order in which they were added."""
        for name, setting in tuple(self._settings.items()):
            text = wanted.get(name)
            if isinstance(text, str) and len(text) <= MAX_TEXT:
                setting.write(text)


def element(handle: Any) -> PageSetting:
    """Return the setting of a viser GUI element: a checkbox, dropdown, text or slider."""

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
    """Return the setting of a list of strings."""
    return PageSetting(
        lambda: _BETWEEN.join(read()), lambda text: write([each for each in text.split(_BETWEEN) if each])
    )
