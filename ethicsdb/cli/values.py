"""Values of the database as JSON can hold them."""

from __future__ import annotations

import math
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

__all__ = ["plain"]


def plain(value: Any) -> Any:
    """A value, with all that is in it, as JSON's own kinds.

    Times are UTC in ISO 8601 with `Z`; intervals ISO 8601 durations of months, days and seconds, `P1M0DT3.5S`; decimals
    texts with all their digits; bytes hexadecimal digits; NaN and infinities, which JSON has no numbers for, texts.
    Maps, whose keys may be anything, are lists of pairs. What else there is (UUIDs, paths) becomes text.
    """
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else "NaN" if math.isnan(value) else f"{'-' * (value < 0)}Infinity"
    if isinstance(value, (list, tuple)):
        return _duration(value) if hasattr(value, "nanoseconds") else [plain(each) for each in value]
    if isinstance(value, dict):
        return {key if isinstance(key, str) else str(plain(key)): plain(each) for key, each in value.items()}
    if hasattr(value, "__dataclass_fields__"):
        return plain(vars(value))
    return _text(value)


def _text(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat().removesuffix("+00:00") + "Z"
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, (bytes, bytearray)):
        return value.hex()
    return str(value)


def _duration(value: Any) -> str:
    seconds = (Decimal(value.nanoseconds) / 10**9).normalize()
    return f"P{value.months}M{value.days}DT{seconds:f}S"
