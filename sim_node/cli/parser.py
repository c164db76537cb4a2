"""The parser of subcommands: lists do not consume positionals, duplicates are rejected, nothing is ignored."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

from sim_node.cli.arguments import UsageError
from sim_node.text import did_you_mean

Fits = Callable[[str], bool]
_NEEDED = "the following arguments are required: "


def is_remapping(word: str) -> bool:
    """Return whether a word is FROM:=TO."""
    return ":=" in word


def anything(word: str) -> bool:
    """Return True: for names, which cannot be distinguished from a positional argument."""
    return True


class Formatter(argparse.HelpFormatter):
    """Help in the format of Python 3.13 on every Python: `-o, --output FILE`, with the placeholder once."""

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        placeholder = self._format_args(action, self._get_default_metavar_for_optional(action))
        return f"{', '.join(action.option_strings)} {placeholder}"


class LinesFormatter(Formatter, argparse.RawDescriptionHelpFormatter):
    """The same, but preserving the lines of an epilog."""


class StrictParser(argparse.ArgumentParser):
    """An ArgumentParser that is stricter than argparse.

    Each option may be given once. `given`, in the namespace, contains the names of the given arguments. Options added
    by add_list and add_optional end before a word that does not fit them, so that a positional can follow.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"formatter_class": Formatter, **kwargs, "allow_abbrev": False})
        self.register("action", None, _Once)
        self.register("action", "store", _Once)
        self.register("action", "store_true", _flag)
        self.register("action", "append", _Append)
        self.set_defaults(given=frozenset())
        self._consumed: dict[str, list[str]] = {}

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse all arguments, leaving none over."""
        found, left = super().parse_known_args(self._ended(list(args or ())), namespace)
        left = [word for word in left if word != "--"]
        if left:
            word = left[0].partition("=")[0]
            if word.startswith("-"):
                known = [option for action in self._actions for option in action.option_strings]
                self.error(f"unknown option {word}{did_you_mean(word, known)}")
            self.error(f"unexpected argument {left[0]!r}{self._hint()}")
        return found, left

    def error(self, message: str) -> NoReturn:
        """Exit with 2 and print the error, a hint about a missing positional if possible, and a usage line."""
        wrong = message + (self._hint() if message.startswith(_NEEDED) else "")
        self.exit(2, f"{self.prog}: error: {wrong}\n{self._usage_line()}\n")

    def _usage_line(self) -> str:
        """Return the usage on one line: its first usage, or else the positionals, with [options] for the rest."""
        if self.usage:
            return self.format_usage().splitlines()[0]
        formatter = self._get_formatter()
        formatter.add_usage(f"{self.prog} [options]", [], [])
        start = formatter.format_help().strip()
        named = [action for action in self._actions if not action.option_strings]
        return " ".join((start, *(formatter._format_args(each, str(each.metavar or each.dest)) for each in named)))

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            words = list(map(str, action.choices))
            needed = f"{did_you_mean(str(value), words)} (allowed: {', '.join(words)})"
            raise argparse.ArgumentError(action, f"found {value!r}{needed}")

    def _hint(self) -> str:
        consumed = [f"{option} took {', '.join(words)}" for option, words in self._consumed.items() if words]
        return f" ({'; '.join(consumed)}: write positional arguments first, or after --)" if consumed else ""

    def _ended(self, words: list[str]) -> list[str]:
        """Return the options, repeated for each word of a list as in --topics=/a --topics=/b, and then the positionals.

        An option between positionals would make argparse consider the following optional positionals as left out.
        """
        if any(action.nargs in (argparse.PARSER, argparse.REMAINDER) for action in self._actions):
            return words
        self._consumed.clear()
        ended: list[str] = []
        positionals: list[str] = []
        at = 0
        while at < len(words) and words[at] != "--":
            word = words[at]
            action = self._option_string_actions.get(word)
            at += 1
            if not isinstance(action, _Fitting):
                (positionals if self._parse_optional(word) is None else ended).append(word)
                end = at + (_most_words(action.nargs) if action is not None else 0)
                while at < min(end, len(words)) and self._parse_optional(words[at]) is None:
                    ended.append(words[at])
                    at += 1
                continue
            consumed: list[str] = []
            limit = 1 if isinstance(action, _Optional) else len(words)
            while at < len(words) and len(consumed) < limit and not words[at].startswith("-"):
                if not action.fits(words[at]) and (consumed or action.nargs != "+"):
                    break
                consumed.append(words[at])
                at += 1
            self._consumed.setdefault(word, []).extend(consumed)
            # If an option lacks a required word, argparse reports it.
            ended += [f"{word}={each}" for each in consumed] or [word if action.nargs == "+" else f"{word}="]
        positionals += words[at + 1 :]
        return [*ended, "--", *positionals] if positionals else ended


def _most_words(nargs: int | str | None) -> int:
    """Return the maximum number of words of an option."""
    return nargs if isinstance(nargs, int) else 1 if nargs in (None, "?") else sys.maxsize


def formerly(container: argparse._ActionsContainer, action: argparse.Action, *names: str) -> None:
    """Accept former names of an option, which are not in help and messages."""
    container._option_string_actions.update(dict.fromkeys(names, action))


def add_list(
    container: argparse._ActionsContainer, flag: str, metavar: str, fits: Fits, *, empty: bool = False, **options: Any
) -> argparse.Action:
    """Add an option that takes several words and may be repeated. empty: whether it may be given without words.

    The first word always belongs to it (unless `empty`); each further word belongs to it if it fits.
    """
    nargs = "*" if empty else "+"
    return container.add_argument(flag, metavar=metavar, action=_List, nargs=nargs, fits=fits, **options)


def add_optional(
    container: argparse._ActionsContainer,
    flag: str,
    metavar: str,
    fits: Fits,
    *,
    type: Callable[[str], Any],
    const: Any,
    **options: Any,
) -> None:
    """Add an option with an optional word. Without a word, its value is `const`."""
    options["type"] = lambda word: type(word) if word else const
    container.add_argument(flag, metavar=metavar, action=_Optional, nargs="?", fits=fits, const=const, **options)


def flag_of(name: str) -> str:
    """Return `--record-topics` for `record_topics`."""
    return "--" + name.replace("_", "-")


def refuse(arguments: argparse.Namespace, what: str, names: Iterable[str]) -> None:
    """Raise UsageError if an option is given that `what` does not use."""
    for name in names:
        if name in arguments.given:
            raise UsageError(f"{what} does not support {flag_of(name)}")


def goes_with(arguments: argparse.Namespace, needed: str, names: Iterable[str]) -> None:
    """Raise UsageError if an option is given without the option or argument that it belongs to."""
    for name in names:
        if name in arguments.given:
            raise UsageError(f"{flag_of(name)} requires {needed}")


def _note(namespace: argparse.Namespace, action: argparse.Action) -> None:
    namespace.given = frozenset(getattr(namespace, "given", ())) | {action.dest}


class _Fitting(argparse.Action):
    """An option whose words must fit it."""

    def __init__(self, option_strings: Sequence[str], dest: str, *, fits: Fits, **kwargs: Any) -> None:
        super().__init__(option_strings, dest, **kwargs)
        self.fits = fits


class _Once(argparse.Action):
    """Stores a value, or True without a word. May be given once."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        if option_string is not None and self.dest in getattr(namespace, "given", ()):
            raise argparse.ArgumentError(self, "is given twice")
        if option_string is not None or values is not self.default:
            _note(namespace, self)
        setattr(namespace, self.dest, True if self.nargs == 0 else values)


def _flag(option_strings: Sequence[str], dest: str, default: bool = False, **kwargs: Any) -> _Once:
    """Return the action of a flag."""
    return _Once(option_strings, dest, nargs=0, default=default, **kwargs)


class _Optional(_Fitting, _Once):
    """Stores a value or `const`."""


class _Append(argparse.Action):
    """Collects the values of an option that may be repeated."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        _note(namespace, self)
        words = [word for word in values if word] if isinstance(values, list) else [values]
        setattr(namespace, self.dest, [*(getattr(namespace, self.dest) or ()), *words])


class _List(_Fitting, _Append):
    """Collects the words of a list that may be repeated."""
