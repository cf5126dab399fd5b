# SPDX-License-Identifier: MIT
"""MT4G's JSON as published numbers of a card: https://github.com/caps-tum/mt4g, of 2025 and later.

Its sizes are the first that no longer fit, found in steps of what a miss fetches. Its latencies are
of a pointer chase over one block; a size whose confidence is 0 was not found."""

from __future__ import annotations

from collections.abc import Iterator

from .errors import Failure, printable

GIB = 1 << 30
NS_PER_S = 1e9
DEVIATIONS = 2  # on both sides of a mean
WARP = 32
EVIDENCE_DIGITS = 12  # of a SHA-256


def is_one(content: object) -> bool:
    """Whether JSON is MT4G's."""
    return isinstance(content, dict) and {"compute", "general", "memory"} <= content.keys()


def within(content: dict, *keys: str) -> object:
    """What lies at the keys, one in the other; None where one is missing."""
    for key in keys:
        content = content.get(key) if isinstance(content, dict) else None
    return content


class Published:
    """Entries of a card that quote one file."""

    def __init__(self, content: dict, evidence: str):
        self.content, self.evidence = content, evidence
        when = within(content, "meta", "timestamp")
        self.source = f"MT4G, {printable(when)[:10]}" if when else "MT4G"

    def entry(self, value: float, low: float, high: float, how: str) -> dict:
        return {
            "value": value,
            "low": low,
            "high": high,
            "from": "published",
            "method": f"{self.source}: {how}",
            "evidence": [self.evidence],
        }

    def plain(self, *keys: str, factor: float = 1, how: str = "of the device") -> dict | None:
        found = within(self.content, *keys)
        value = found.get("value") if isinstance(found, dict) else found
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return None
        value *= factor
        value = int(value) if value == int(value) else value
        return self.entry(value, value, value, how)

    def latency(self, *keys: str) -> dict | None:
        found = within(self.content, *keys, "latency")
        if not found or not found.get("measurements"):
            return None
        mean, spread = found["mean"], DEVIATIONS * found["stdev"]
        how = f"mean of {found['measurements']} loads, and two standard deviations of them"
        return self.entry(mean, max(0, mean - spread), mean + spread, how)

    def size(self, *keys: str) -> dict | None:
        """Of a cache: the largest that fits, and the next step, which does not."""
        found = within(self.content, *keys, "size")
        step = within(self.content, *keys, "fetchGranularity", "size")
        if not found or not step or not found.get("confidence"):
            return None
        how = f"the first size that does not fit, in steps of {step} bytes; low: the last that does"
        return self.entry(found["size"], found["size"] - step, found["size"], how)


def model(published: Published) -> dict[str, dict]:
    """What the model of a card takes, without what the file does not say."""
    plain = published.plain
    rate = GIB / NS_PER_S
    found = {
        "sm_count": plain("compute", "multiProcessorCount"),
        "warps_per_sm": plain("compute", "maxThreadsPerMultiProcessor", factor=1 / WARP),
        "blocks_per_sm": plain("compute", "maxBlocksPerMultiProcessor"),
        "shared_bytes_per_sm": plain("memory", "shared", "sharedMemPerMultiProcessor"),
        "shared_bytes_reserved": plain("memory", "shared", "reservedSharedMemPerBlock"),
        "sm_clock_mhz": plain("general", "clockRate", factor=1e-3),
        "l2_bytes": plain("memory", "l2", "size"),
        "l2_bytes_per_ns": plain("memory", "l2", "readBandwidth", factor=rate, how="of reads"),
        "dram_bytes_per_ns": plain("memory", "main", "readBandwidth", factor=rate, how="of reads"),
        "l1_latency_cycles": published.latency("memory", "l1"),
        "l2_latency_cycles": published.latency("memory", "l2"),
        "constant_l1_bytes": published.size("memory", "constant", "l1"),
    }
    return {key: entry for key, entry in found.items() if entry}


def numbers(published: Published) -> Iterator[dict]:
    """Of both levels of constant caches, and why one is not known."""
    for level, key in ((1, "l1"), (2, "l1.5")):
        at = ("memory", "constant", key)
        line = within(published.content, *at, "lineSize")
        found = {
            "capacity_bytes": published.size(*at),
            "line_bytes": published.entry(line["size"], None, None, "of a line") if line else None,
            "latency": published.latency(*at),
        }
        for name, entry in found.items():
            yield {
                "experiment": "published",
                "path": "constant",
                "name": name,
                "level": level,
                **{part: entry and entry[part] for part in ("value", "low", "high")},
                "unit": "cycles" if name == "latency" else "bytes",
                "method": entry and entry["method"],
                "reason": None if entry else f"{published.source} did not find it",
            }


def new_card(content: dict, major: int, minor: int) -> dict:
    name = printable(within(content, "general", "name") or "NVIDIA GPU")
    return {
        "schema": {"name": "cbank-card", "version": "1.0"},
        "name": name.removeprefix("NVIDIA "),
        "chip": None,
        "cc_major": major,
        "cc_minor": minor,
        "model": {},
        "evidence": {},
    }


def filled(content: dict, name: str, sha256: str, card: dict | None) -> dict:
    """A card of MT4G's numbers, or the card with those that it lacks: what it has stays. name,
    sha256: of MT4G's file."""
    capability = within(content, "general", "computeCapability")
    if within(content, "general", "vendor") != "NVIDIA" or not capability:
        raise Failure("MT4G's file is of no NVIDIA GPU, and a card is of one; name another file")
    major, minor = capability["major"], capability["minor"]
    card = card or new_card(content, major, minor)
    published = Published(content, sha256[:EVIDENCE_DIGITS])
    found = model(published)
    own = (card["cc_major"], card["cc_minor"], card["model"].get("sm_count", {}).get("value"))
    theirs = (major, minor, found.get("sm_count", {}).get("value"))
    if card["model"] and own != theirs:
        raise Failure(
            f"the card is of compute capability {own[0]}.{own[1]} with {own[2]} SMs, and MT4G's"
            f" file of {theirs[0]}.{theirs[1]} with {theirs[2]}; name files of one GPU"
        )
    known = {key: entry for key, entry in card["model"].items() if entry}
    return {
        **card,
        "model": {**card["model"], **found, **known},
        "evidence": {
            **card["evidence"],
            published.evidence: {"file": printable(name), "sha256": sha256},
        },
        "numbers": [*card.get("numbers", []), *numbers(published)],
    }
