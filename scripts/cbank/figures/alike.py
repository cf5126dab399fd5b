# SPDX-License-Identifier: MIT
"""What a picture need not show twice: lines that coincide, panels that repeat others, and panels in
which nothing changes. Rows are those of lines (draw.py)."""

from __future__ import annotations

import pandas

NEAR = 1.02  # values that differ by less are one line in print
FLAT = 1.10  # a line that changes by less is a number, not a figure


def near(one: dict, other: dict, limit: float = NEAR) -> bool:
    """Whether two lines have the same points, and values that differ by less than the limit."""
    return one.keys() == other.keys() and all(
        value == other[point]
        or value > 0
        and other[point] > 0
        and 1 / limit < value / other[point] < limit
        for point, value in one.items()
    )


def points(rows: pandas.DataFrame, keys: list[str]) -> dict:
    """{keys: y} of rows."""
    return dict(zip(rows[keys].itertuples(index=False, name=None), rows["y"]))


def groups(rows: pandas.DataFrame, by: str, keys: list[str]) -> list[list]:
    """The values of a column, those together whose rows have near values at the same keys."""
    found = []  # (values of the first, names)
    for name, members in rows.groupby(by, sort=False):
        its = points(members, keys)
        alike = next((names for first, names in found if near(first, its)), None)
        if alike is None:
            found.append((its, [name]))
        else:
            alike.append(name)
    return [names for _, names in found]


def joined_title(titles: list[str]) -> str:
    """One title of several: words that differ stand beside each other, as in 1/2/4 B wide."""
    words = [title.split(" ") for title in titles]
    if len({len(its) for its in words}) > 1:
        return "; ".join(titles)
    columns = [list(dict.fromkeys(column)) for column in zip(*words)]
    if sum(len(column) > 1 for column in columns) > 1:
        return "; ".join(titles)
    ends = [column[0][-1:] if column[0][-1:] == "," else "" for column in columns]
    return " ".join(
        "/".join(word.rstrip(",") for word in column) + end if len(column) > 1 else column[0]
        for column, end in zip(columns, ends)
    )


def renamed(rows: pandas.DataFrame, by: str, names: list[list], word) -> pandas.DataFrame:
    new = {name: word(its) for its in names for name in its}
    return rows.assign(**{by: rows[by].map(new)})


def joined(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Panels whose lines coincide become one, and lines that coincide in all panels have one look.
    All are drawn: `line` tells them apart."""
    rows = rows.assign(line=rows["panel"] + ": " + rows["series"])
    series = groups(rows, "series", ["panel", "x"])
    rows = renamed(rows, "panel", groups(rows, "panel", ["series", "x"]), joined_title)
    return renamed(rows, "series", series, ", ".join)


def changing(rows: pandas.DataFrame) -> tuple[pandas.DataFrame, list[str]]:
    """(rows of panels in which a line changes, the titles of the others)."""
    flat = [
        panel
        for panel, members in rows.groupby("panel", sort=False)
        if (members.groupby("series")["y"].agg(lambda its: its.max() / its.min()) < FLAT).all()
    ]
    return rows[~rows["panel"].isin(flat)], flat


def repeats(rows: pandas.DataFrame) -> dict[str, str]:
    """{panel: the earlier one whose lines have the same form}: all its values are those by one
    factor."""
    found, seen = {}, {}
    for panel, members in rows.groupby("panel", sort=False):
        its = points(members, ["series", "x"])
        for before, known in seen.items():
            if its.keys() == known.keys():
                factors = [value / known[point] for point, value in its.items()]
                if max(factors) < NEAR * min(factors):
                    found[panel] = before
                    break
        else:
            seen[panel] = its
    return found
