# SPDX-License-Identifier: MIT
"""Checksums of a store.

A checksum is the sum of the hashes of rows, modulo 2**62: what goes in is added, and what goes out
is subtracted. Damage that is there already stays in the difference.
"""

from __future__ import annotations

import math
import sqlite3
import struct
import zlib


def stir(seed: int, value: int) -> int:
    """A hash of both, of 64 bits. They may be arrays of numpy's uint64."""
    mixed = (seed ^ value) * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF
    return mixed ^ mixed >> 32


def time_hash(identity_id: int, run_id: int, ns: int) -> int:
    """The hash of a time. ns: the bits of the double. Arguments may be arrays of numpy's uint64,
    as below."""
    return stir(stir(stir(1, identity_id), run_id), ns)


def point_hash(
    identity_id: int, run_id: int, low: int, high: int, flags: int, kernel_id: int
) -> int:
    """The hash of the rest that a history shows. low, high: the bits of doubles; flags:
    text_hash."""
    return stir(stir(stir(stir(stir(stir(2, identity_id), run_id), low), high), flags), kernel_id)


def text_hash(of: str | tuple | None) -> int:
    """The hash of a text that may be missing, or of a row."""
    return zlib.crc32(ascii(of).encode())


def bits(number: float | None) -> int:
    """The bits of a double. A number that is not known counts as NaN."""
    return struct.unpack("<Q", struct.pack("<d", math.nan if number is None else number))[0]


def hashes(row: tuple) -> tuple[int, int, int]:
    """Three hashes of a row of times: its time (0 where there is none), what else a history
    shows, and the rest."""
    (
        identity_id,
        run_id,
        ns,
        low,
        high,
        flags,
        clock,
        status,
        reason,
        verified,
        kernel_id,
        counter_set_id,
    ) = row
    return (
        0 if ns is None else time_hash(identity_id, run_id, bits(ns)),
        point_hash(identity_id, run_id, bits(low), bits(high), text_hash(flags), kernel_id or 0),
        text_hash((identity_id, run_id, clock, status, reason, verified, counter_set_id)),
    )


def modulo(total: int) -> int:
    """A sum as a store keeps it."""
    return int(total) & 0x3FFFFFFFFFFFFFFF


def table_sum(store: sqlite3.Connection, table: str) -> int:
    """The sum over all rows of a table."""
    # text_hash of each
    return modulo(
        sum(map(zlib.crc32, map(str.encode, map(ascii, store.execute(f"SELECT * FROM {table}")))))
    )


def sum_of(store: sqlite3.Connection, table: str, identity_id: int = 0) -> int:
    """The sum that a store keeps for a table, or for the times of a cell: 0 where it never had a
    row."""
    found = store.execute(
        "SELECT sum FROM sums WHERE of = ? AND identity_id = ?", (table, identity_id)
    ).fetchone()
    return found[0] if found else 0
