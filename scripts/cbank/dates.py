# SPDX-License-Identifier: MIT
"""Dates and times of documents, and which of them can be true."""

from __future__ import annotations

import datetime
import re
import time

DAY_MS = 86400_000
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?Z")


def read_time(text: str) -> int:
    """Milliseconds since 1970 of a time like 2026-01-31T12:00:00.250Z. Raises ValueError."""
    if not isinstance(text, str) or not TIME.fullmatch(text):
        raise ValueError(f"{text!r} is no time like 2026-01-31T12:00:00Z")
    return round(datetime.datetime.fromisoformat(text).timestamp() * 1000)


def write_time(ms: int) -> str:
    """The reverse of read_time. Whole seconds have no fraction."""
    when = datetime.datetime.fromtimestamp(ms // 1000, datetime.timezone.utc)
    return when.strftime("%Y-%m-%dT%H:%M:%S") + (f".{ms % 1000:03}Z" if ms % 1000 else "Z")


def latest_ms() -> int:
    """The latest start that can be true: now and a day. No verdict is made of what began later."""
    return round(time.time() * 1000) + DAY_MS
