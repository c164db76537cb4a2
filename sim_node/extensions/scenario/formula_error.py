"""The error of formulas, in a separate module so that world files can be read without importing their evaluation."""

from __future__ import annotations


class FormulaError(ValueError):
    """A formula is invalid.

    Args:
        message: A sentence for the user.
        column: The column in the text, from 1; 0 if unknown.
    """

    def __init__(self, message: str, column: int = 0) -> None:
        super().__init__(message)
        self.column = column
