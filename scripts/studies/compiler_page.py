# SPDX-License-Identifier: MIT
"""What compiler.py shows of its answers: which guesses hit, and the tables of docs/compiler.md."""

import math
import re

from compiler_questions import cases, questions

UNIFORM_LOAD = {False: "ULDC", True: "LDCU"}  # by its name: from sm_100 on

# What is told of code without a load of a table, and the operations that it counts. A BRX jumps by
# a table of addresses.
OTHERS = (
    ("BRX", "BRX", "BRXU"),
    ("branches", "BRA"),
    ("compares", "ISETP", "UISETP", "FSETP"),
    ("selects", "SEL", "FSEL", "USEL", "PRMT"),
)
GROWING = ("STL", *(name for name, *_ in OTHERS))


def numbered(count, name):
    return name if count == 1 else f"{count} {name}"


# ---- Guesses

NUMBERED = re.compile(r"(?:(\d+) )?(.+)")
WIDTH = re.compile(r"\.(U8|S8|U16|S16|64|128)\b")


def parts_of(text):
    """(count, name, width) of each part of an answer; uniform loads have one name. A guess that
    says no count or width has None."""
    found = []
    for part in text.split(" + "):
        count, name = NUMBERED.fullmatch(part).groups()
        width = WIDTH.search(name)
        name = WIDTH.sub("", name).replace(UNIFORM_LOAD[True], UNIFORM_LOAD[False])
        found.append((count, name, width and width[1]))
    return found


def hits(guess, answer):
    """Whether the guess names the loads of the answer; of an answer without any, what comes first
    in OTHERS. Counts and widths are compared where the guess has them."""
    if guess == answer:
        return True
    guessed, found = parts_of(guess), parts_of(answer)
    names = {name for _, name, _ in found}
    others = [name for name, *_ in OTHERS if name in names]
    if others:
        return [name for _, name, _ in guessed] == others[:1]
    if names - {"STL"} != {name for _, name, _ in guessed} - {"STL"}:
        return False
    return all(
        any(
            name == there[1] and count in (None, there[0]) and width in (None, there[2])
            for there in found
        )
        for count, name, width in guessed
    )


# ---- The page


def spans(texts):
    """{architecture: text or None} as "sm_75 to sm_90: ULDC; from sm_100: LDCU"."""
    rows, known = [], sorted(texts)
    for architecture in known:
        text = texts[architecture]
        if rows and rows[-1][2] == text:
            rows[-1][1] = architecture
        else:
            rows.append([architecture, architecture, text])
    if len(rows) == 1:
        return rows[0][2] or ""
    said = []
    for first, last, text in rows:
        if text is None:
            continue
        if first == last:
            where = f"sm_{first}"
        elif last == known[-1]:
            where = f"from sm_{first}"
        else:
            where = f"sm_{first} to sm_{last}"
        said.append(f"{where}: {text}")
    return "; ".join(said)


def agree(answers, others):
    """Whether two toolkits say the same of every architecture that both know."""
    return all(answers[number] == others[number] for number in answers.keys() & others.keys())


def told(by_toolkit):
    """{toolkit: {architecture: answer}} in words: toolkits that agree are told together."""
    alike = []
    for toolkit, answers in by_toolkit.items():
        for names, together in alike:
            if agree(answers, together):
                names.append(toolkit)
                together.update(answers)
                break
        else:
            alike.append(([toolkit], dict(answers)))
    if len(alike) == 1:
        return spans(alike[0][1])
    return ". ".join(f"nvcc {', '.join(names)}: {spans(answers)}" for names, answers in alike)


def shape(answer):
    """The answer without the counts that grow with a table."""
    return " + ".join(
        name if (name := NUMBERED.fullmatch(part)[2]) in GROWING else part
        for part in answer.split(" + ")
    )


def merged(answers):
    """{shape: the answer in words} of answers: the smallest and the largest of such counts."""
    ranges = {}
    for answer in answers:
        counts = [int(NUMBERED.fullmatch(part)[1] or 1) for part in answer.split(" + ")]
        ranges.setdefault(shape(answer), []).append(counts)
    return {
        name: " + ".join(
            part if part not in GROWING else ranged(min(counts), max(counts), part)
            for part, counts in zip(name.split(" + "), zip(*rows))
        )
        for name, rows in ranges.items()
    }


def ranged(low, high, name):
    return numbered(low, name) if low == high else f"{low} to {high} {name}"


def boxes(rows):
    """Tuples of labels as few lists of sets whose products they are."""
    if not rows or not rows[0]:
        return [[]] if rows else []
    last = {}
    for row in rows:
        last.setdefault(row[:-1], []).append(row[-1])
    alike = {}
    for first, labels in last.items():
        alike.setdefault(tuple(labels), []).append(first)
    return [[*box, labels] for labels, firsts in alike.items() for box in boxes(firsts)]


def labels_in_words(labels, axis):
    """Some labels of an axis; sizes that follow each other by the first and the last one."""
    labels = [f"`{label}`" if re.search(r"[*_\[(]", label) else label for label in labels]
    places = [axis.index(label.strip("`")) for label in labels]
    runs = places == list(range(places[0], places[0] + len(places)))
    if len(labels) > 2 and runs and all(label[0].isdigit() for label in labels):
        return f"{labels[0]} to {labels[-1]}"
    return ", ".join(labels)


class Found:
    """The answers of a file: of each toolkit, for each of its architectures."""

    def __init__(self, document):
        self.toolkits = document["toolkits"]

    def of(self, name):
        """{toolkit: {architecture: answer}} of a case, the newest toolkit first."""
        return {
            ".".join(toolkit.split(".")[:2]): {
                architecture: answer
                for answer, architectures in row["answers"][name].items()
                for architecture in architectures
            }
            for toolkit, row in self.toolkits.items()
        }


def missed(case, by_toolkit):
    """{architecture: the guess where an answer of a toolkit is another, else None}"""
    found = {}
    for answers in by_toolkit.values():
        for architecture, answer in answers.items():
            guess = case.guessed(architecture)
            found[architecture] = found.get(architecture) or (
                None if hits(guess, answer) else guess
            )
    return found


def missed_in_words(case, by_toolkit):
    text = spans(missed(case, by_toolkit))
    guess = case.guess["guess"]
    return guess if ";" in text and isinstance(guess, str) else text


def rows_of_question(found, chosen):
    """(labels of the cases, what comes out, the guess that missed) of the cases of a question."""
    alike = {}
    for case in chosen:
        by_toolkit = found.of(case.name)
        wrong = missed_in_words(case, by_toolkit)
        if case.row.get("any_width"):
            by_toolkit = {
                toolkit: {number: WIDTH.sub("", answer) for number, answer in answers.items()}
                for toolkit, answers in by_toolkit.items()
            }
        shapes = told(
            {
                toolkit: {number: shape(answer) for number, answer in answers.items()}
                for toolkit, answers in by_toolkit.items()
            }
        )
        alike.setdefault((shapes, wrong), []).append((case, by_toolkit))
    for (_, wrong), group in alike.items():
        words = merged(
            answer
            for _, by_toolkit in group
            for answers in by_toolkit.values()
            for answer in answers.values()
        )
        said = told(
            {
                toolkit: {number: words[shape(answer)] for number, answer in answers.items()}
                for toolkit, answers in group[0][1].items()
            }
        )
        for box in boxes([case.labels for case, _ in group]):
            yield box, said, wrong


def show(found, group):
    """Prints the table of a group of questions."""
    print("| question | case | what comes out | guess that missed |")
    print("|---|---|---|---|")
    for row in questions():
        if row["group"] != group:
            continue
        axes = [list(axis) for axis in row.get("over", {}).values()]
        chosen = [case for case in cases() if case.row["key"] == row["key"]]
        question = row["question"]
        for box, said, wrong in rows_of_question(found, chosen):
            words = "; ".join(
                labels_in_words(labels, axis)
                for labels, axis in zip(box, axes)
                if len(labels) < len(axis) or len(axis) == 1
            )
            print(f"| {question} | {words or 'all'} | {said} | {wrong} |")
            question = ""


def summary(found):
    """Prints which toolkits compiled for which architectures, and how often guesses hit."""
    print("| toolkit | architectures |")
    print("|---|---|")
    for toolkit, row in found.toolkits.items():
        print(
            f"| nvcc {toolkit} | {', '.join(f'sm_{number}' for number in row['architectures'])} |"
        )
    tried = {}
    for case in cases():
        right = not any(missed(case, found.of(case.name)).values())
        tried.setdefault(math.floor(case.guess["confidence"] * 10) / 10, []).append(right)
    print("\n| confidence of the guess | cases | right everywhere |")
    print("|---|---|---|")
    for confidence, right in sorted(tried.items()):
        print(f"| from {confidence:.0%} | {len(right)} | {sum(right)} |")
