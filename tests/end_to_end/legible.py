# SPDX-License-Identifier: MIT
"""What stands in the way of reading a figure: the bounding box of every text against every other, against the edges of the
figure and of its axes, and against lines, marks and leaders."""

import itertools

import numpy

SLACK = 1.0  # pixels that boxes may share: boxes are a little larger than their letters
SMALLEST_PT = 5


def findings(figure):
    """One line for each thing that is wrong with a figure that is laid out."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.text import Text
    figure.draw_without_rendering()  # legends have their places only then
    renderer = FigureCanvasAgg(figure).get_renderer()
    boxes = [(text, Text.get_window_extent(text, renderer)) for text in shown_texts(figure)]  # a leader is a line
    found = [f"'{word(text)}' is of {text.get_fontsize():.1f} pt" for text, _ in boxes if text.get_fontsize() < SMALLEST_PT]
    found += [f"'{word(text)}' reaches over the edge of the figure" for text, box in boxes
              if min(box.x0, box.y0) < -SLACK or box.x1 > figure.bbox.x1 + SLACK or box.y1 > figure.bbox.y1 + SLACK]
    found += [f"'{word(text)}' and '{word(other)}'" for (text, box), (other, beside) in itertools.combinations(boxes, 2)
              if overlap(box, beside)]
    lines = [(name, owner, points) for name, owner, points in strokes(figure, renderer) if len(points) > 1]
    pieces = numpy.concatenate([numpy.hstack([points[:-1], points[1:]]) for _, _, points in lines])
    whose = numpy.repeat(numpy.arange(len(lines)), [len(points) - 1 for _, _, points in lines])
    for text, box in boxes:
        for place in dict.fromkeys(whose[entering(pieces, box)]):
            if lines[place][1] is not text:
                found.append(f"'{word(text)}' on {lines[place][0]}")
    return list(dict.fromkeys(found))


def word(text):
    return text.get_text().replace("\n", " / ")


def overlap(box, beside):
    across = min(box.x1, beside.x1) - max(box.x0, beside.x0)
    down = min(box.y1, beside.y1) - max(box.y0, beside.y0)
    return across > SLACK and down > SLACK


def shown_texts(figure):
    from matplotlib.text import Text
    hidden = not_shown(figure)
    return [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip() and text not in hidden]


def not_shown(figure):
    """Labels of ticks beyond the limits of their axis, and all of panels that are not there."""
    from matplotlib.axis import Axis
    from matplotlib.text import Text
    found = set()
    for axis in figure.findobj(Axis):
        low, high = sorted(axis.get_view_interval())
        for tick in axis.get_major_ticks() + axis.get_minor_ticks():
            if not low <= tick.get_loc() <= high:
                found |= {tick.label1, tick.label2}
        if not axis.axes.get_visible():
            found |= set(axis.axes.findobj(Text))
    return found


# -- lines --------------------------------------------------------------------------------------------------------


def strokes(figure, renderer):
    """[(name, the text that it belongs to or None, points of a line in pixels)]: edges of axes, lines, bars of intervals,
    leaders."""
    for axes in (axes for axes in figure.findobj(is_axes) if axes.get_visible()):
        box = axes.get_window_extent(renderer)
        corners = {"left": (0, 0, 0, 1), "right": (1, 0, 1, 1), "bottom": (0, 0, 1, 0), "top": (0, 1, 1, 1)}
        for side, (x0, y0, x1, y1) in corners.items():
            if axes.axison and axes.spines[side].get_visible():
                yield f"the {side} edge of axes", None, numpy.array(
                    [(box.x0 + x0 * box.width, box.y0 + y0 * box.height), (box.x0 + x1 * box.width, box.y0 + y1 * box.height)])
        for line in axes.lines:
            if line.get_visible():
                yield from of_line(line, box)
        for collection in axes.collections:
            yield from of_collection(collection, box)
        for text in axes.texts:
            arrow = getattr(text, "arrow_patch", None)
            if arrow is not None:
                yield "a leader", text, text.arrow_patch.get_transform().transform_path(arrow.get_path()).vertices


def is_axes(artist):
    from matplotlib.axes import Axes
    return isinstance(artist, Axes)


def of_line(line, box):
    points = line.get_transform().transform(numpy.asarray(line.get_xydata(), float))
    points = points[numpy.isfinite(points).all(axis=1)]
    if line.get_linestyle() not in ("None", "none", " ", ""):
        clip = box if line.get_clip_on() else None
        yield f"line '{line.get_label()}'", None, points if clip is None else clipped(points, clip)
    if line.get_marker() not in ("None", "none", " ", "", None):
        half = line.get_markersize() * line.figure.dpi / 72 / 2
        inside = points[(points[:, 0] >= box.x0 - 1) & (points[:, 0] <= box.x1 + 1) & (points[:, 1] >= box.y0 - 1) &
                        (points[:, 1] <= box.y1 + 1)]
        for way in ((half, 0), (0, half)):
            ends = numpy.stack([inside - way, inside + way, numpy.full_like(inside, numpy.nan)], axis=1)
            yield f"a mark of '{line.get_label()}'", None, ends.reshape(-1, 2)


def of_collection(collection, box):
    from matplotlib.collections import LineCollection
    if isinstance(collection, LineCollection):
        for segment in collection.get_segments():
            yield "an interval", None, clipped(collection.get_transform().transform(segment), box)


def clipped(points, box):
    """As far as a line is drawn inside of the axes."""
    return numpy.column_stack([numpy.clip(points[:, 0], box.x0 - 1, box.x1 + 1), numpy.clip(points[:, 1], box.y0 - 1, box.y1 + 1)]) \
        if len(points) else points


def entering(pieces, box):
    """Which pieces of lines have a part inside the box: Liang and Barsky's clipping. A piece to nowhere has none."""
    inside = numpy.ones(len(pieces), bool)
    first, last = numpy.zeros(len(pieces)), numpy.ones(len(pieces))
    if box.width <= 2 * SLACK or box.height <= 2 * SLACK:
        return ~inside
    for axis, low, high in ((0, box.x0 + SLACK, box.x1 - SLACK), (1, box.y0 + SLACK, box.y1 - SLACK)):
        start, way = pieces[:, axis], pieces[:, axis + 2] - pieces[:, axis]
        with numpy.errstate(divide="ignore", invalid="ignore"):
            ends = numpy.sort(numpy.stack([(low - start) / way, (high - start) / way]), axis=0)
        still = way == 0
        inside &= numpy.isfinite(way) & (~still | ((low <= start) & (start <= high)))
        first = numpy.where(still, first, numpy.maximum(first, ends[0]))
        last = numpy.where(still, last, numpy.minimum(last, ends[1]))
    return inside & (first <= last)
