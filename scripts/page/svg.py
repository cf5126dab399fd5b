# SPDX-License-Identifier: MIT
"""matplotlib's SVG made small, and free of style attributes and sheets, which viewers of CI artefacts block.

What is drawn stays: styles become attributes, what neighbours have in common moves to a group around them, coordinates
have two decimals (a hundredth of a point), and names are short.
"""

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
DEFAULTS = {"stroke-dashoffset": "0"}
NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
FONT = re.compile(r"(?:(italic|oblique) )?(?:(bold|\d00) )?([\d.]+)px")
NOTHING = re.compile(r"M[-.\d]+ ?[-.\d]+")  # a path to where it begins
PATH_TOKEN = re.compile(r"[A-Za-z]|-?[\d.]+(?:e-?\d+)?")


def slim(data, description):
    """The SVG of a figure, in bytes; `description`: what its source is, in words."""
    root = ET.fromstring(data)
    title = root.findtext(f"{SVG}title") or ""
    names = Names(root)
    top = {"xmlns": "http://www.w3.org/2000/svg", "viewBox": rounded(root.get("viewBox")),
           "width": rounded(root.get("width")), "height": rounded(root.get("height")), "font-family": FONTS,
           "stroke-linejoin": "round"}
    body = "".join(written(node) for node in regrouped(nodes_of(root, names)))
    head = f"<title>{escape(title)}</title><desc>{escape(description)}</desc>"
    return f"<svg{attributes_text(top)}>{head}{body}</svg>\n".encode()


class Names:
    """Short names of what is referred to."""

    def __init__(self, root):
        text = " ".join(value for element in root.iter() for value in element.attrib.values())
        found = dict.fromkeys(re.findall(r"#([\w-]+)", text))
        there = {element.get("id") for element in root.iter()}
        self.short = {name: f"a{number:x}" for number, name in enumerate(name for name in found if name in there)}

    def replaced(self, text):
        return re.sub(r"#([\w-]+)", lambda match: "#" + self.short.get(match[1], match[1]), text)


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
        if tag in (None, "metadata", "style", "title"):
            continue
        attributes, children = attributes_of(element, names), nodes_of(element, names)
        if (tag in ("g", "defs") and not children) or NOTHING.fullmatch(attributes.get("d", "")):
            continue
        if element.get("id", "").startswith("matplotlib.axis"):  # ticks: which comes first cannot be seen
            children = by_look(children)
        if tag == "g" and not attributes:  # says nothing
            made += children
        else:
            made.append((tag, attributes, (element.text or "").strip(), children))
    return made


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
    return found


def style_of(text, names):
    found = {}
    for part in text.split(";"):
        key, colon, value = (word.strip() for word in part.partition(":"))
        if key == "font":
            style, weight, size = FONT.match(value).groups()
            found.update({name: its for name, its in (("font-style", style), ("font-weight", weight),
                                                      ("font-size", rounded(size))) if its})
        elif colon:
            found[key] = colour(rounded(names.replaced(value)))
    return {key: value for key, value in found.items() if DEFAULTS.get(key) != value}


def colour(value):
    return re.sub(r"^#(\w)\1(\w)\2(\w)\3$", r"#\1\2\3", value)


def path_text(text):
    """Numbers rounded; a line along an axis has one number, and letters that go on are left out."""
    made, command, x, y = [], "", None, None
    tokens = PATH_TOKEN.findall(text)
    numbers = []
    for token in [*tokens, "M"]:
        if not token[0].isalpha():
            numbers.append(rounded(token))
            continue
        if command == "L" and numbers[0] == x:
            made.append("V" + numbers[1])
        elif command == "L" and numbers[1] == y:
            made.append("H" + numbers[0])
        elif command:
            made.append(command + " ".join(numbers))
        if len(numbers) >= 2:
            x, y = numbers[-2:]
        command, numbers = token, []
    return "".join(made).replace(" -", "-")


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


def regrouped(nodes):
    return grouped([(tag, attributes, text, regrouped(children)) for tag, attributes, text, children in
                    ungrouped(nodes)])


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
            made.append(nodes[start])
        start = end
    return made


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
    return "".join(f" {key}={quoteattr(value)}" for key, value in attributes.items())


def written(node):
    tag, attributes, text, children = node
    inside = escape(text) + "".join(written(child) for child in children)
    return f"<{tag}{attributes_text(attributes)}" + (f">{inside}</{tag}>" if inside else "/>")
