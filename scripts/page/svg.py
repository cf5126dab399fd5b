# SPDX-License-Identifier: MIT
"""matplotlib's SVG made small, and free of style attributes and sheets, which viewers of CI artefacts block.

What is drawn stays: styles become attributes, what neighbours have in common moves to a group around them, coordinates
have two decimals (a hundredth of a point), and names are short.
"""

import functools
import re
import xml.etree.ElementTree as ET
from xml.sax.saxutils import escape, quoteattr

SVG, XLINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"
FONTS = "DejaVu Sans,Bitstream Vera Sans,Verdana,Geneva,sans-serif"  # all about as wide

# Attributes that elements inherit: what several have alike can stand on a group.
INHERITED = ("fill", "stroke", "stroke-width", "stroke-linejoin", "stroke-linecap", "stroke-dasharray",
             "stroke-dashoffset", "stroke-opacity", "fill-opacity", "font-size", "font-style", "font-weight",
             "text-anchor")
SHARED = (*INHERITED, "clip-path")  # a group is clipped as each of its parts
DEFAULTS = {"stroke-dashoffset": "0", "text-anchor": "start", "stroke-linejoin": "miter"}
CORNER = re.compile(r"L [-.\d]+ [-.\d]+ [LC]")  # of a path: where lines are joined
MARKS_MIN = 3  # from so many on a path is shorter
NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
FONT = re.compile(r"(?:(italic|oblique) )?(?:(bold|\d00) )?([\d.]+)px")
NOTHING = re.compile(r"M [-.\d]+ [-.\d]+")  # a path to where it begins
PATH_TOKEN = re.compile(r"[A-Za-z]|-?[\d.]+(?:e-?\d+)?")


def slim(data, description):
    """The SVG of a figure, in bytes; `description`: what its source is, in words."""
    root = ET.fromstring(data)
    title = root.findtext(f"{SVG}title") or ""
    names = Names(root)
    top = {"xmlns": "http://www.w3.org/2000/svg", "viewBox": rounded(root.get("viewBox")),
           "width": rounded(root.get("width")), "height": rounded(root.get("height")), "font-family": FONTS}
    markers = {}
    body = "".join(written(node) for node in regrouped(nodes_of(root, names), markers))
    body = "".join(written(node) for node in markers.values()) + body
    head = f"<title>{escape(title)}</title><desc>{escape(description)}</desc>"
    return f"<svg{attributes_text(top)}>{head}{body}</svg>\n".encode()


class Names:
    """Short names of what is referred to."""

    def __init__(self, root):
        text = " ".join(value for element in root.iter() for value in element.attrib.values())
        found = dict.fromkeys(re.findall(r"#([\w-]+)", text))
        self.styles = {}  # by their texts, of which there are few
        there = {element.get("id") for element in root.iter()}
        self.lines = {element.get("id"): line_of(element) for element in root.iter(f"{SVG}path") if line_of(element)}
        there -= set(self.lines)
        self.short = {name: f"a{number:x}" for number, name in enumerate(name for name in found if name in there)}

    def replaced(self, text):
        return re.sub(r"#([\w-]+)", lambda match: "#" + self.short.get(match[1], match[1]), text)


def line_of(element):
    """The ends of what is one straight line, such as a tick; else None."""
    tokens = PATH_TOKEN.findall(element.get("d", ""))
    if len(tokens) != 6 or tokens[0] != "M" or tokens[3] != "L":
        return None
    return [float(token) for token in (*tokens[1:3], *tokens[4:])]


def rounded(text):
    def short(match):
        value = f"{float(match[0]):.2f}".rstrip("0").rstrip(".")
        return "0" if value in ("-0", "") else value
    return NUMBER.sub(short, text)


# -- elements: (tag, attributes, text, children) -------------------------------------------------------------------


def nodes_of(parent, names):
    made = []
    for element in parent:
        tag = element.tag.removeprefix(SVG) if isinstance(element.tag, str) else None
        if tag == "use" and element.get(f"{XLINK}href", "")[1:] in names.lines:
            made.append(line_in_place(element, names))
            continue
        if tag in (None, "metadata", "style", "title"):
            continue
        attributes, children = attributes_of(element, names), nodes_of(element, names)
        if tag == "defs":
            children = [child for child in children if child[0] != "path" or "id" in child[1]]
        if (tag in ("g", "defs") and not children) or NOTHING.fullmatch(attributes.get("d", "")):
            continue
        if element.get("id", "").startswith("matplotlib.axis"):  # ticks: which comes first cannot be seen
            children = by_look(children)
        if tag == "g" and not attributes:  # says nothing
            made += children
        else:
            made.append((tag, attributes, (element.text or "").strip(), children))
    return made


def line_in_place(element, names):
    """A tick where it stands, instead of a reference to one."""
    x, y = (float(element.get(key)) for key in "xy")
    x1, y1, x2, y2 = names.lines[element.get(f"{XLINK}href")[1:]]
    ends = path_text(f"M {x + x1:.4f} {y + y1:.4f} L {x + x2:.4f} {y + y2:.4f}")
    look = {key: value for key, value in style_of(element.get("style"), names).items() if key != "stroke-linejoin"}
    return "path", {"d": ends, "fill": "none", **look}, "", []


def attributes_of(element, names):
    found = {}
    for key, value in element.attrib.items():
        if key == "style":
            found.update(style_of(value, names))
        elif key == "id":
            if value in names.short:
                found["id"] = names.short[value]
        elif key == "d":
            found["d"] = path_text(value)
        elif key == "transform":
            text = rounded(re.sub(r"rotate\(-?0 [^)]*\)", "", value).strip())
            found.update({"transform": text} if text else {})
        else:
            found[key.replace(XLINK, "")] = rounded(names.replaced(value))
    if CORNER.search(found.get("d", "")):  # matplotlib's sheet says round where the element does not say
        found = {"stroke-linejoin": "round", **found}
    return {key: value for key, value in found.items() if DEFAULTS.get(key) != value}


def style_of(text, names):
    if text not in names.styles:
        names.styles[text] = style_parts(text, names)
    return names.styles[text]


def style_parts(text, names):
    found = {}
    for part in text.split(";"):
        key, colon, value = (word.strip() for word in part.partition(":"))
        if key == "font":
            style, weight, size = FONT.match(value).groups()
            found.update({name: its for name, its in (("font-style", style), ("font-weight", weight),
                                                      ("font-size", rounded(size))) if its})
        elif key == "font-size":  # later versions of matplotlib write these apart
            found[key] = rounded(value.removesuffix("px"))
        elif colon and key != "font-family":  # which is the figure's
            found[key] = colour(rounded(names.replaced(value)))
    return found


def colour(value):
    return re.sub(r"^#(\w)\1(\w)\2(\w)\3$", r"#\1\2\3", value)


def path_text(text):
    """M and L with their numbers rounded, curves too; what is short is found when it is written."""
    return rounded(" ".join(PATH_TOKEN.findall(text)))


def short_path(text):
    """Each command from where the one before ends, or with the coordinates themselves, whichever is shorter."""
    made, x, y, first = [], 0, 0, (0, 0)
    tokens = PATH_TOKEN.findall(text)
    command, numbers, place = "", [], 0
    while place < len(tokens):
        command, place, numbers = tokens[place], place + 1, []
        while place < len(tokens) and not tokens[place].isalpha():
            numbers.append(round(100 * float(tokens[place])))
            place += 1
        if command in "zZ":
            made.append("z")
            x, y = first
            continue
        pairs = list(zip(numbers[::2], numbers[1::2]))
        near = [(to_x - x, to_y - y) for to_x, to_y in pairs]
        if command == "L" and len(pairs) == 1 and 0 in near[0]:
            way = 1 if near[0][0] == 0 else 0
            made.append(min("HV"[way] + hundredths([pairs[0][way]]), "hv"[way] + hundredths([near[0][way]]), key=len))
        else:
            made.append(min(command + hundredths(sum(pairs, ())), command.lower() + hundredths(sum(near, ())), key=len))
        x, y = pairs[-1]
        if command == "M":
            first = x, y
    return "".join(made)


def hundredths(numbers):
    """-1.5.25: a sign or a point begins a number, too."""
    made, pointed = [], False
    for text in map(hundredth, numbers):
        made += (text,) if not made or text[0] == "-" or (text[0] == "." and pointed) else (" ", text)
        pointed = "." in text
    return "".join(made)


@functools.lru_cache(1 << 16)
def hundredth(number):
    text = f"{number / 100:.2f}".rstrip("0").rstrip(".")
    return re.sub(r"^(-?)0\.", r"\1.", text) if text not in ("0", "-0") else "0"


# -- groups -------------------------------------------------------------------------------------------------------


def shared_of(node):
    """What could as well stand on a group around the node."""
    if "transform" in node[1] and "clip-path" in node[1]:
        return {}
    return {key: node[1][key] for key in SHARED if key in node[1]}


def by_look(nodes):
    """Those that look alike beside each other, in the order in which looks come."""
    looks = {}
    for node in nodes:
        looks.setdefault((node[0], *shared_of(node).items()), []).append(node)
    return [node for alike in looks.values() for node in alike]


def ungrouped(nodes):
    """Groups that stand for attributes alone are undone."""
    made = []
    for tag, attributes, text, children in nodes:
        if tag == "g" and set(attributes) <= set(SHARED):
            made += ungrouped([(its, {**attributes, **more}, words, inside) for its, more, words, inside in children])
        else:
            made.append((tag, attributes, text, children))
    return made


def joined(nodes):
    """Lines that follow each other and look alike are one path."""
    made = []
    for node in nodes:
        before = made[-1] if made else ("",)
        if before[0] == node[0] == "path" and node[1].get("fill") == "none" and "id" not in node[1] and \
                {**before[1], "d": None} == {**node[1], "d": None}:
            made[-1] = ("path", {**node[1], "d": f"{before[1]['d']} {node[1]['d']}"}, "", [])
        else:
            made.append(node)
    return made


def regrouped(nodes, markers):
    return grouped([(tag, attributes, text, regrouped(children, markers)) for tag, attributes, text, children in
                    dotted(joined(ungrouped(nodes)), markers)])


def dotted(nodes, markers):
    """Marks that follow each other and look alike are the corners of a path that is not drawn."""
    made, run = [], []
    for node in [*nodes, ("",)]:
        if run and not (node[0] == "use" and look_of(node) == look_of(run[0])):
            made += run if len(run) < MARKS_MIN else [path_of_marks(run, markers)]
            run = []
        if node[0] == "use":
            run.append(node)
        elif node[0]:
            made.append(node)
    return made


def look_of(node):
    return {key: value for key, value in node[1].items() if key not in "xy"}


def path_of_marks(run, markers):
    look = look_of(run[0])
    drawn = tuple((key, value) for key, value in look.items() if key != "clip-path")
    name = "m" + str(len(markers))
    attributes = {"id": name, "markerUnits": "userSpaceOnUse", "overflow": "visible"}
    node = ("marker", attributes, "", [("use", dict(drawn), "", [])])
    name = markers.setdefault(drawn, node)[1]["id"]
    corners = " L ".join(f"{node[1]['x']} {node[1]['y']}" for node in run)
    return ("path", {"d": f"M {corners}", "fill": "none", **{f"marker-{where}": f"url(#{name})" for where in
                                                            ("start", "mid", "end")},
                     **{key: value for key, value in look.items() if key == "clip-path"}}, "", [])


def grouped(nodes):
    """Neighbours that have attributes in common become a group that has them, where that is shorter."""
    made, start = [], 0
    while start < len(nodes):
        end, shared = best_run(nodes, start)
        if shared:
            bare = [(tag, {key: value for key, value in attributes.items() if key not in shared}, text, children)
                    for tag, attributes, text, children in nodes[start:end]]
            made.append(("g", shared, "", grouped(bare)))
        else:
            made.append(clipped(nodes[start]))
        start = end
    return made


def clipped(node):
    """A mark moves what it is clipped by: that stands on a group around it."""
    tag, attributes, text, children = node
    if tag != "use" or "clip-path" not in attributes:
        return node
    return "g", {"clip-path": attributes["clip-path"]}, "", [(tag, {key: value for key, value in attributes.items() if key != "clip-path"}, text, children)]


def best_run(nodes, start):
    """(end, attributes): of the neighbours from start on whose group saves most."""
    shared = shared_of(nodes[start])
    best, found = 0, (start + 1, {})
    for end in range(start + 1, len(nodes)):
        other = shared_of(nodes[end])
        shared = {key: value for key, value in shared.items() if other.get(key) == value}
        if not shared:
            break
        saved = (end - start) * sum(len(key) + len(value) + 4 for key, value in shared.items()) - len("<g></g>")
        if saved > best:
            best, found = saved, (end + 1, shared)
    return found


# -- text ---------------------------------------------------------------------------------------------------------


def attributes_text(attributes):
    return "".join(f" {key}={quoted(value)}" for key, value in attributes.items())


quoted = functools.lru_cache(1 << 12)(quoteattr)


def written(node):
    tag, attributes, text, children = node
    if "d" in attributes:
        attributes = {**attributes, "d": short_path(attributes["d"])}
    inside = escape(text) + "".join(written(child) for child in children)
    return f"<{tag}{attributes_text(attributes)}" + (f">{inside}</{tag}>" if inside else "/>")
