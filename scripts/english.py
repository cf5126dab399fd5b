# SPDX-License-Identifier: MIT
"""Finds sentences that are hard to read, in comments, strings and pages."""

import ast
import io
import os
import re
import tokenize

WORDS_MAX = 30  # of a sentence
START = re.compile(r"(Of|What|That|Such)\b")
LINK = re.compile(r"\b(by|of) which\b", re.IGNORECASE)
KINDS = ("starts with Of, What, That, Such", "of + which, by + which", f"more than {WORDS_MAX} words")

C_TOKEN = re.compile(r'//[^\n]*(?:\n[ \t]*//[^\n]*)*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"(?:\s*(?:PRI\w+\s*)?"(?:\\.|[^"\\\n])*")*'
                     r"|'(?:\\.|[^'\\\n])+'", re.DOTALL)


def without_comments(source):
    """C without comments, strings and characters."""
    return C_TOKEN.sub(" ", source)


# ---- Texts of a file: (line, text) each. An empty line in a text separates paragraphs.


def texts_of_c(source):
    for match in C_TOKEN.finditer(source):
        text, line = match.group(), source.count("\n", 0, match.start()) + 1
        if text.startswith("//"):
            yield line, re.sub(r"^[ \t]*//[ \t]?", "", text, flags=re.MULTILINE)
        elif text.startswith("/*"):
            yield line, re.sub(r"^[ \t]*\*(?!/)", "", text[2:-2], flags=re.MULTILINE)
        elif text.startswith('"'):
            joined = "".join(part[1:-1] for part in re.findall(r'"(?:\\.|[^"\\\n])*"', text))
            yield line, joined.replace("\\n", "\n").replace('\\"', '"')


def texts_of_python(source):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
        elif isinstance(node, ast.JoinedStr):
            yield node.lineno, "".join(part.value if isinstance(part, ast.Constant) else "X" for part in node.values)
    comments = [(token.start, token.string) for token in tokenize.generate_tokens(io.StringIO(source).readline)
                if token.type == tokenize.COMMENT]
    yield from joined((row, text[1:], column) for (row, column), text in comments)


def texts_of_shell(source):
    found = ((row, re.match(r"(\s*|[a-z-]+:.*)#+ ?(?!!)(.*)", line)) for row, line in enumerate(source.splitlines(), 1))
    yield from joined((row, match.group(2), len(match.group(1))) for row, match in found if match)


def joined(comments):
    """Comments of lines that follow each other, as one text each."""
    start, texts, last = 0, [], (-1, -1)
    for row, text, column in comments:
        if (row - 1, column) != last and texts:
            yield start, "\n".join(texts)
            texts = []
        start = start if texts else row
        texts.append(text)
        last = (row, column)
    if texts:
        yield start, "\n".join(texts)


def texts_of_page(source):
    """Blocks of code go; a cell of a table and an item of a list are texts of their own."""
    source = re.sub(r"^```.*?^```", lambda match: "\n" * match.group().count("\n"), source, flags=re.MULTILINE | re.DOTALL)
    source = re.sub(r"<!--.*?-->", lambda match: "\n" * match.group().count("\n"), source, flags=re.DOTALL)
    source = re.sub(r"^\|.*\|$", lambda match: match.group().replace("|", "\0"), source, flags=re.MULTILINE)
    source = re.sub(r"\]\([^)]*\)", "]", source)
    for match in re.finditer(r"(?:[^\n\0]+(?:\n(?![\n\0#]|\s*(?:[-*]|\d+\.) ))?)+", source):
        yield source.count("\n", 0, match.start()) + 1, match.group()


def texts_of_manual(source):
    """A request of two letters (.SH, .PP, .TP) ends a paragraph; the lines between .nf and .fi are code."""
    source = re.sub(r"^\.nf$.*?^\.fi$", lambda match: "\n" * match.group().count("\n"), source, flags=re.MULTILINE | re.DOTALL)
    yield from texts_of_page(re.sub(r"^\.(?!BR|RI|BI|IR)[A-Za-z]{2}\b.*$|^\.[BIR]{1,2} ", "", source, flags=re.MULTILINE))


def texts_of_template(source):
    yield from texts_of_page(re.sub(r"<[^>]*>|\{[{%#].*?[}%#]\}", lambda match: " " + "\n" * match.group().count("\n"), source,
                                    flags=re.DOTALL))


READERS = {**dict.fromkeys((".c", ".h", ".cu", ".cuh", ".def", ".S"), texts_of_c), ".py": texts_of_python,
           ".md": texts_of_page, ".txt": texts_of_manual, ".html": texts_of_template,
           **dict.fromkeys((".sh", ".bash", ".sbatch", ".yml", ""), texts_of_shell)}


# ---- Sentences


def sentences(text):
    """Text between ends of sentences, paragraphs and items. Code (C, SQL, Python) and rows of tables are not sentences."""
    if re.match(r"\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|WITH|PRAGMA|import)\b", text):
        return
    text = re.sub(r"^.*\S {2,}\S.*$", r"\n\g<0>\n", text, flags=re.MULTILINE)
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )|\n(?= {4})", text):
        for sentence in re.split(r"(?<=[.!?])[)\"'`*_]*\s+", paragraph):
            yield " ".join(sentence.split())


def faults(name, source):
    """(line, kind, sentence) of each fault of a file. A file whose kind has no reader has none."""
    reader = READERS.get(os.path.splitext(name)[1])
    for line, text in reader(source) if reader else ():
        for sentence in sentences(text):
            plain = sentence.lstrip("-*>#_`\"'( 0123456789.")
            words = [word for word in plain.split() if re.search(r"[A-Za-z]", word)]
            if START.match(plain) and len(words) > 1:
                yield line, KINDS[0], sentence
            if LINK.search(plain):
                yield line, KINDS[1], sentence
            if len(words) > WORDS_MAX:
                yield line, KINDS[2], sentence
