"""Numbers as world files write them."""

from __future__ import annotations

import decimal
import math

from sim_node.world.model import LATEST_NS

NON_FINITE = {".nan", ".inf", "-.inf", "+.inf", "nan", "inf", "-inf", "+inf", "infinity", "-infinity", "+infinity"}
_NANOSECOND = decimal.Decimal("1e-9")
_ENOUGH = decimal.Context(prec=40)  # whatever precision the caller works with


def as_number(text: str) -> float:
    """The double nearest to a decimal number, infinite where it is too large for one; NaN where it is no number."""
    if not text.isascii() or "_" in text:  # float() takes both, YAML neither
        return math.nan
    try:
        return float(text)
    except ValueError:
        return math.nan


def as_nanoseconds(text: str) -> int | None:
    """Decimal seconds as the nearest whole nanosecond, without passing through a float.

    None where they are no finite number, or further from zero than stamps reach.
    """
    whole, _, fraction = text.partition(".")
    if len(whole) <= 10 and len(fraction) <= 9 and text.isascii() and (whole + fraction).isdecimal():
        nanoseconds = int(whole + fraction.ljust(9, "0"))
        return nanoseconds if nanoseconds <= LATEST_NS else None
    seconds = as_number(text)
    if not abs(seconds) * 1e9 <= LATEST_NS:
        return None
    if abs(seconds) < 1e-12:  # no Decimal of exponents with many digits
        return 0
    rounded = decimal.Decimal(text).quantize(_NANOSECOND, decimal.ROUND_HALF_EVEN, _ENOUGH)
    nanoseconds = int(rounded.scaleb(9, _ENOUGH))
    return nanoseconds if abs(nanoseconds) <= LATEST_NS else None
