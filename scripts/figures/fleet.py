# SPDX-License-Identifier: MIT
"""A verdict on a fleet as a map of nodes and GPUs: what the times of each path do, and who is not there."""

from . import documents, panels, style

NAME = "fleet"
PLACE = 90
SUMMARY = "how much the times of each path changed, for every GPU of every node, and who did not answer"
TAKES = ("fleet",)
NEEDS = "a verdict on a fleet (cbank fleet STORE --json FILE)"
METHOD = ("Change: the last three values of a GPU against those before or the baseline, the median over the cells of the path, "
          "as the verdict holds it. Letters: what the verdict finds.")
COLUMNS = ("host", "slot", "uuid", "device", "verdict", "path", "change", "last_utc", "source", "source_sha256")

LETTERS = {"missing": "M", "replaced": "R", "failed": "F", "counter": "C", "geometry": "G", "slower": "S", "apart": "A"}
NODES_MAX = 48  # a page
ROW_MM = 3.2
LEAST = 0.02  # change at which colours end, where nothing is beyond it


def rows(document, selection=documents.ALL):
    content = document.content
    gpus = sorted(content["gpus"], key=lambda gpu: (gpu["host"] or "", gpu["slot"] or "", gpu["uuid"] or ""))
    paths = style.in_order(change["path"] for gpu in gpus for change in gpu["changes"])
    if not paths:
        raise documents.NotDrawn("no GPU that answered has times")
    taken = {(gpu["host"], gpu["slot"]) for gpu in gpus if gpu["answered"] and gpu["slot"]}
    made = []
    for gpu in gpus:
        if not gpu["answered"] and (gpu["host"], gpu["slot"]) in taken:  # another board is there now
            continue
        changes = {change["path"]: change["change"] for change in gpu["changes"]}
        made += [{"host": gpu["host"] or gpu["name"], "slot": gpu["slot"] or "", "uuid": gpu["uuid"] or "", "device": gpu["name"],
                  "verdict": gpu["verdict"], "path": path, "change": changes.get(path), "last_utc": gpu["last_utc"],
                  **document.source()} for path in paths]
    return made


def says(made):
    found = panels.grouped({(row["host"], row["slot"], row["uuid"]): row for row in made}.values(), lambda row: row["verdict"])
    changed = [row for row in made if row["change"] is not None]
    words = f"Of {sum(map(len, found.values()))} GPUs " + ", ".join(f"{len(rows)} {verdict}" for verdict, rows in found.items())
    if not changed:
        return words + "."
    most = max(changed, key=lambda row: abs(row["change"]))
    return words + f"; the largest change is {100 * most['change']:+.2f} % ({most['path']}, {most['host']} {most['slot']})."


def pages(made, _width_mm):
    by_host = panels.grouped(made, lambda row: row["host"])
    return [[row for host in part for row in by_host[host]] for part in panels.parted(list(by_host), NODES_MAX)]


def draw(made, width_mm, note=None):
    from matplotlib.lines import Line2D
    hosts = list(panels.grouped(made, lambda row: row["host"]))
    places = {host: list(panels.grouped([row for row in made if row["host"] == host], lambda row: (row["slot"], row["uuid"])))
              for host in hosts}
    by_path = panels.grouped(made, lambda row: row["path"])
    most = max([LEAST] + [abs(row["change"]) for row in made if row["change"] is not None])
    found = [name for name in LETTERS if any(row["verdict"] == name for row in made)]
    handles = [(Line2D([], [], linestyle="none", marker=f"${LETTERS[name]}$", color="black", markersize=4, markeredgewidth=0.2), name) for name in found]
    across = min(len(by_path), 3) if style.wide(width_mm) else 1
    down = -(-len(by_path) // across)
    figure, body = style.figure(width_mm, down * (ROW_MM * len(hosts) + 12) + 12, handles, note)
    axes = panels.grid(body, len(by_path), across, sharey=True)
    for each, (path, members) in zip(axes, by_path.items()):
        drawn = draw_panel(each, hosts, places, members, most)
        each.set_title(path, loc="left")
    bar = body.colorbar(drawn, ax=axes, location="bottom", shrink=0.6, aspect=40, pad=0.02)
    bar.set_label("change of time, %")
    return figure


def draw_panel(axes, hosts, places, members, most):
    """A row a node, a square a GPU in the order of its slots; white: there is no time."""
    across = max(map(len, places.values()))
    grid = [[float("nan")] * across for _ in hosts]
    for row in members:
        y, x = hosts.index(row["host"]), places[row["host"]].index((row["slot"], row["uuid"]))
        if row["change"] is not None:
            grid[y][x] = 100 * row["change"]
        if row["verdict"] in LETTERS:
            dark = row["change"] is not None and row["change"] > 0.2 * most
            axes.annotate(LETTERS[row["verdict"]], (x, y), ha="center", va="center", fontsize="small", color="white" if dark else "black")
    axes.set_facecolor("white")
    drawn = axes.pcolormesh(range(across), range(len(hosts)), grid, cmap="cividis_r", vmin=-100 * most, vmax=100 * most, shading="nearest")
    axes.set_ylim(len(hosts) - 0.5, -0.5)
    axes.set_yticks(range(len(hosts)), hosts)
    axes.set_xticks([])
    axes.set_xlabel("GPUs by slot")
    axes.grid(visible=False)
    return drawn
