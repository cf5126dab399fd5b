# SPDX-License-Identifier: MIT
"""The questions of compiler.py: each case of them with its source and its guess."""

import itertools
import json
import os
import string

QUESTIONS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "compiler/questions.json")


def hashed(i):
    """A number of 1 to 251 that follows no rule which a compiler knows."""
    return (i * 2654435761 >> 9) % 251 + 1


def values(count):
    return ", ".join(str(hashed(i)) for i in range(count))


def key_of_case(i, kind):
    return i if kind == "dense" else hashed(i) * 1000 + i * i


def computed(chosen):
    """Texts of a source that follow from the others."""
    count = int(chosen.get("N", 0))
    kind = chosen.get("KEYS", "dense")
    results = [(key_of_case(i, kind), hashed(i)) for i in range(count)]
    chain = "0"
    for key, result in reversed(results):
        chain = f"i == {key} ? {result} : {chain}"
    steps = ("x * x", "x + 3", "sqrtf(x)", "x * 7", "x - 9", "fminf(x, 4)", "x * 5", "fabsf(x)")
    return {
        "VALUES": values(count),
        "VALUES16": values(16),
        "VALUES64": values(64),
        "CASES": " ".join(f"case {key}: return {result};" for key, result in results),
        "CHAIN": chain,
        "PIECES": " ".join(
            f"case {i}: x = {steps[i % len(steps)]} + {hashed(i)}; break;" for i in range(count)
        ),
    }


class Case:
    """One source of a question. labels: its value of each axis, in words."""

    def __init__(self, row, labels):
        self.row, self.labels = row, labels
        axes = row.get("over", {})
        chosen = {axis: axes[axis][label] for axis, label in zip(axes, labels)}
        more = computed(chosen)
        chosen = {axis: string.Template(text).substitute(more) for axis, text in chosen.items()}
        self.source = string.Template("\n".join(row["source"])).substitute({**more, **chosen})
        named = dict(zip(axes, labels))
        self.guess = next(
            guess
            for guess in row["guesses"]
            if all(named[axis] in guess[axis] for axis in axes if axis in guess)
        )
        self.name = " | ".join((row["key"], *labels))

    def guessed(self, architecture):
        """The guess for an architecture."""
        guess = self.guess["guess"]
        if isinstance(guess, str):
            return guess
        for span, said in guess.items():
            first, dash, last = span.partition("-")
            if int(first) <= architecture <= (int(last or 1000) if dash else int(first)):
                return said
        return None


def questions():
    with open(QUESTIONS, encoding="utf-8") as file:
        return json.load(file)


def cases():
    return [
        Case(row, labels)
        for row in questions()
        for labels in itertools.product(*(row.get("over", {}).values()))
    ]
