# SPDX-License-Identifier: MIT
"""A card as lines of gpgpusim.config (GPGPU-Sim) and trace.config (Accel-Sim). A characterization
of the same GPU adds the constant cache and latencies that a card does not hold.

Accel-Sim's tuner takes the same lines: it puts each in the place of that option of its template.
What an option asks and nobody measured is a comment that begins with "not known"."""

from __future__ import annotations

from collections.abc import Iterator

from .documents import number
from .errors import Failure, printable

THREADS_PER_WARP = 32
VOLTA = 7  # from it on, each of the schedulers issues one instruction a cycle
# Replacement of a cache: what the simulator has that is nearest, and whether it is the same.
REPLACEMENTS = {"LRU": ("L", True), "FIFO": ("F", True), "tree pseudo-LRU": ("L", False)}
# The fields of a constant cache behind its replacement: those of the tested configurations since
# Volta. Nothing is known of them.
CACHE_REST = "R:f:N:L,S:2:64,4"


class Facts:
    """What is known of a GPU: numbers of the model of a card, and of a characterization."""

    def __init__(self, card: dict, record: dict | None):
        self.card = card
        self.experiments = {one["name"]: one for one in record["experiments"]} if record else {}
        major, minor = card["cc_major"], card["cc_minor"]
        if record and record["device"]["compute_capability"] != f"{major}.{minor}":
            raise Failure(
                f"the card is of compute capability {major}.{minor}, and the characterization of"
                f" {record['device']['compute_capability']}; name files of one GPU"
            )

    def model(self, key: str) -> dict | None:
        return self.card["model"].get(key)

    def measured(self, experiment: str, name: str) -> dict | None:
        """A number of an experiment; of several the largest."""
        found = [
            one
            for one in self.experiments.get(experiment, {}).get("numbers", [])
            if one["name"] == name and number(one["value"]) is not None
        ]
        return max(found, key=lambda one: number(one["value"]), default=None)

    def first_level(self) -> dict | None:
        """The level of constant memory that is next to an SM."""
        geometry = self.experiments.get("geometry_constant", {}).get("geometry")
        return geometry["levels"][0] if geometry and geometry["levels"] else None


def exact(entry: dict) -> int:
    return round(number(entry["value"]))


def said(what: str, entry: dict) -> str:
    """A comment: the number with its interval, and where it comes from."""
    value, low, high = (number(entry[key]) for key in ("value", "low", "high"))
    interval = "" if low == high else f" ({low:.8g} to {high:.8g})"
    return f"# {what}: {value:.8g}{interval}; {printable(entry.get('method') or 'no method')}"


def option(name: str, what: str, entry: dict | None) -> Iterator[str]:
    """The lines of one whole number."""
    if entry is None:
        yield f"# not known: {name}, {what}"
    else:
        yield said(what, entry)
        yield f"{name} {exact(entry)}"


def head(facts: Facts, file: str) -> Iterator[str]:
    name = printable(facts.card["name"])
    yield f"# {file}: lines of a card of cbank. An option that is not here keeps its value."
    yield f"# Device Name = {name}"


# ---- gpgpusim.config -----------------------------------------------------------------------------


def shape(facts: Facts) -> Iterator[str]:
    major, minor = facts.card["cc_major"], facts.card["cc_minor"]
    yield from ("", "# The GPU and its SMs.")
    yield f"-gpgpu_compute_capability_major {major}"
    yield f"-gpgpu_compute_capability_minor {minor}"
    yield f"-gpgpu_occupancy_sm_number {major}{minor}"
    yield from option("-gpgpu_n_clusters", "SMs", facts.model("sm_count"))
    yield "-gpgpu_n_cores_per_cluster 1"
    warps = facts.model("warps_per_sm")
    yield said("warps that an SM holds", warps)
    yield f"-gpgpu_shader_core_pipeline {THREADS_PER_WARP * exact(warps)}:{THREADS_PER_WARP}"
    yield from option("-gpgpu_shader_cta", "blocks that an SM holds", facts.model("blocks_per_sm"))
    shared = facts.model("shared_bytes_per_sm")
    yield from option("-gpgpu_shmem_size", "bytes of shared memory of an SM", shared)
    yield from option("-gpgpu_shmem_sizeDefault", "the same", shared)
    issue = facts.model("issue_per_cycle")
    if issue and facts.card["cc_major"] >= VOLTA:
        yield from option("-gpgpu_num_sched_per_core", "instructions an SM issues a cycle", issue)
        yield "-gpgpu_max_insn_issue_per_warp 1"
    else:
        yield "# not known: -gpgpu_num_sched_per_core, schedulers of an SM"


def latencies(facts: Facts) -> Iterator[str]:
    yield from ("", "# Latencies, as Accel-Sim's tuner says them: of a whole load.")
    first, second = facts.model("l1_latency_cycles"), facts.model("l2_latency_cycles")
    yield from option("-gpgpu_l1_latency", "cycles of a load that hits in L1", first)
    shared = facts.measured("latency_shared", "latency")
    yield from option("-gpgpu_smem_latency", "cycles of a load of shared memory", shared)
    if not first or not second:
        yield "# not known: -gpgpu_l2_rop_latency, cycles of a load that hits in L2, less L1's"
        return
    yield said("cycles of a load that hits in L2; below it is less L1's", second)
    yield f"-gpgpu_l2_rop_latency {round(number(second['value']) - number(first['value']))}"


def constants(facts: Facts) -> Iterator[str]:
    yield from ("", "# The constant cache next to an SM: N:SETS:LINE:WAYS,REPLACEMENT and more.")
    level, size = facts.first_level(), facts.model("constant_l1_bytes")
    fields = ("sets", "line_bytes", "ways")
    if not level or any(number(level[key]["value"]) is None for key in fields):
        if size:
            yield said("bytes of it", size)
        yield "# not known: -gpgpu_const_cache:l1, which asks sets, line and ways"
        return
    yield from (said(key.replace("_", " "), level[key]) for key in fields)
    policy = level["replacement_name"]
    letter, same = REPLACEMENTS.get(policy, ("L", False))
    if not same:
        yield f"# not known: its replacement here; measured: {printable(policy or 'nothing')}"
    yield f"# not known: the fields {CACHE_REST}, which are those of tested configurations"
    sets, line, ways = (exact(level[key]) for key in fields)
    yield f"-gpgpu_const_cache:l1 N:{sets}:{line}:{ways},{letter}:{CACHE_REST}"
    yield "# Constants miss, and so do instructions."
    yield "-gpgpu_perfect_inst_const_cache 0"


def unsaid(facts: Facts) -> Iterator[str]:
    """What the card holds, in units that no option has."""
    yield from ("", "# What the card knows below is not what the options ask.")
    for key, what, option_name in (
        ("sm_clock_mhz", "MHz of the SMs", "-gpgpu_clock_domains, which asks three more clocks"),
        ("l2_bytes", "bytes of L2", "-gpgpu_cache:dl2, which asks sets, lines and ways"),
        ("l2_bytes_per_ns", "bytes of L2 a ns", "-icnt_flit_size and the clocks"),
        ("dram_bytes_per_ns", "bytes of memory a ns", "-gpgpu_n_mem, -gpgpu_dram_buswidth"),
        (
            "launch_ns",
            "ns of one more launch in a stream",
            "-gpgpu_kernel_launch_latency, of one launch",
        ),
    ):
        entry = facts.model(key)
        if entry:
            yield said(what, entry)
        yield f"# not known: {option_name}"
    serial = facts.model("constant_address_cycles")
    if serial:
        yield said("cycles of an SM for each address more of a warp", serial)
    yield "# The simulator has no option for that, and no second constant cache."


def gpgpusim(facts: Facts) -> str:
    parts = (shape, latencies, constants, unsaid)
    lines = [*head(facts, "gpgpusim.config"), *(line for part in parts for line in part(facts))]
    return "\n".join(lines) + "\n"


# ---- trace.config --------------------------------------------------------------------------------


def unit(facts: Facts, index: int, what: str, path: str) -> Iterator[str]:
    """The latency of a load by a specialized unit, and after how many cycles each unit takes the
    next: there are as many units as schedulers."""
    name = f"-trace_opcode_latency_initiation_spec_op_{index}"
    latency = facts.measured(f"latency_{path}", "latency")
    rate = facts.measured(f"throughput_{path}", "loads_per_cycle")
    units = facts.model("issue_per_cycle")
    if not latency or not rate or not units:
        yield f"# not known: {name}, {what}; a characterization of this GPU may know it"
        return
    yield said(f"{what}, cycles", latency)
    yield said(f"{what}, of an SM and cycle", rate)
    yield f"# for {exact(units)} units, the second field of -specialized_unit_{index}"
    cycles = max(1, round(number(units["value"]) / number(rate["value"])))
    yield f"{name} {max(1, exact(latency))},{cycles}"


def trace(facts: Facts) -> str:
    lines = list(head(facts, "trace.config"))
    latency = facts.model("alu_latency_cycles")
    if latency:
        lines.append(said("cycles of an arithmetic instruction", latency))
    lines += [
        f"# not known: -trace_opcode_latency_initiation_{kind}, after how many cycles one follows"
        for kind in ("int", "sp", "dp", "sfu", "tensor")
    ]
    lines += ["", "# Textures."]
    lines += unit(facts, 2, "loads of a texture", "texture")
    lines += ["", "# The uniform datapath. Its arithmetic has the same option as its loads."]
    lines += unit(facts, 4, "loads of constants by the uniform datapath", "constant_uniform")
    return "\n".join(lines) + "\n"
