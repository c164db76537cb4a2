"""The error of formulas, apart from these: world files are read without what computes them."""

from __future__ import annotations


class FormulaError(ValueError):
    """A formula is wrong.

    Args:
        message: A sentence for the user.
        column: Where in the text, counted from 1; 0 where there is no place.
    """

    def __init__(self, message: str, column: int = 0) -> None:
        super().__init__(message)
        self.column = column
