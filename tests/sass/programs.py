# SPDX-License-Identifier: MIT
"""Random programs: kernels whose loads read tables at drawn indices, in drawn control flow.

A program is a tree of statements and typed expressions, drawn by a seed. What it does is defined
for each thread, whatever its data:

- Numbers are unsigned where they may wrap, and no divisor and no shift is out of range.
- Each expression knows the least and the largest value that it may have. An index is one that fits
  its table, or is made to fit.
- Each variable has a value from the begin on, so that any statement may go.
- A mask names the threads that are there, neither more nor less. A branch or a loop whose threads
  tell each other something first asks who comes: a ballot under the mask outside. A shuffle takes
  a lane of its mask.
- All barriers stand before the first branch. Shared memory is not written behind them.

Every fourth program also has what the others have not: blocks of two dimensions, tables in the
parameters and in a texture, atomics, and loops that `goto` enters at two places.

A variable has a flavor: by what it may differ among threads, if no branch decides over it.
"""

import copy
import random
import re

FLAVORS = ("grid", "block", "warp", "thread", "data")
KINDS = {"u32": (0, 2**32 - 1), "s32": (-(2**31), 2**31 - 1), "u64": (0, 2**64 - 1)}
KINDS |= {"s64": (-(2**63), 2**63 - 1), "bool": (0, 1)}
BITS = {"u32": 32, "s32": 32, "u64": 64, "s64": 64}
THREADS_MAX, BLOCKS_MAX = 96, 3  # as tests/sass/host/marks.cpp launches
ROUNDS_MAX = 7  # of a loop
NUMBERS = (0, 1, 2, 3, 4, 5, 7, 8, 12, 15, 16, 20, 31, 32, 33, 48, 63, 64, 100, 255, 256, 1000)
LONG_NUMBERS = (*NUMBERS, 2**31, 2**32 - 1, 2**32, 2**32 + 5, 2**33, 2**40 + 9)
LANES = {"LANE < 16": 0xFFFF, "LANE & 1": 0xAAAAAAAA, "LANE >= 8": 0xFFFFFF00, "LANE == 0": 1}
LANES |= {"LANE & 16": 0xFFFF0000, "LANE % 4 == 3": 0x88888888, "LANE < 31": 0x7FFFFFFF}


class Expression:
    """Text with the expressions in it. Its value is never below `low` and never above `high`."""

    def __init__(self, kind, *parts, low=None, high=None):
        least, largest = KINDS[kind]
        if low is None or low < least or high > largest:
            low, high = least, largest
        self.kind, self.parts, self.low, self.high = kind, list(parts), low, high

    def __str__(self):
        return "".join(map(str, self.parts))

    def simpler(self):
        """Copies in which one part stands for what it is in."""
        for part in self.parts:
            if isinstance(part, Expression):
                if part.kind == self.kind and self.low <= part.low and part.high <= self.high:
                    yield part
                for place, old in enumerate(self.parts):
                    if old is part:
                        for new in part.simpler():
                            other = copy.copy(self)
                            other.parts = [*self.parts[:place], new, *self.parts[place + 1 :]]
                            yield other
        if self.parts[0] != "3u" and self.kind == "u32" and self.low <= 3 <= self.high:
            yield Expression("u32", "3u", low=3, high=3)


class Table:
    """What a load reads: its text in the source, the name that the program has for it, elements."""

    def __init__(self, text, name, size, element):
        self.text, self.name, self.size = text, name, size
        self.part = ".y" if element == "pair" else ""
        self.load = "FETCH" if text == "tx" else "LOAD"
        self.of_kernel = name[0] in "spax"  # device functions do not have it


class Context:
    """Where a statement is written: the mask of the threads that are there, and whether they leave
    this loop or function for themselves."""

    def __init__(self, mask, loop_free, function_free, direct, depth):
        self.mask, self.loop_free, self.function_free = mask, loop_free, function_free
        self.direct, self.depth = (direct, depth)  # direct: of which body this is: loop, function

    def within(self, **changes):
        other = copy.copy(self)
        other.depth += 1
        for name, value in changes.items():
            setattr(other, name, value)
        return other


class Statement:
    """One statement. `expressions` and `bodies` are what may become simpler."""

    talks = False  # threads tell each other something

    def __init__(self, expressions=(), bodies=()):
        self.expressions, self.bodies = list(expressions), [list(body) for body in bodies]

    def lines(self, context):
        raise NotImplementedError


def talk(body):
    return any(
        statement.talks or any(talk(inner) for inner in statement.bodies) for statement in body
    )


def written(body, context):
    return [f"    {line}" for statement in body for line in statement.lines(context)]


class Assign(Statement):
    def __init__(self, variable, expression):
        super().__init__([expression])
        self.variable = variable

    def lines(self, context):
        return [f"{self.variable} = {self.expressions[0]};"]


class Store(Statement):
    """Writes what nothing reads: calls of two arms stay two where it stands behind one of them."""

    def lines(self, context):
        return ["out[THREAD + 512] = sum;"]


class Load(Statement):
    """A load of a table. `form` is how the source writes the index."""

    def __init__(self, table, index, form, variable=None):
        super().__init__([index])
        self.table, self.form, self.variable = table, form, variable

    def lines(self, context):
        index, size = self.expressions[0], self.table.size
        above = 1 << size.bit_length()
        before, at = {
            "plain": ("", "k"),
            "reversed": ("", f"{size - 1} - k"),
            "hidden": ("k = HIDE(u32, (u32)k);", "k"),
            "beyond": (f"k = HIDE(u32, (u32)k | {above}u);", f"k - {above}"),
            "before": ("k = HIDE(u32, (u32)k - 9u);", "(s32)k + 9"),
            "long": ("", "(s64)k"),
            "short": ("", "(u16)k"),
        }[self.form]
        load = f"{self.table.load}({self.table.text}, {at})"
        load += self.table.part
        sums = "sum = sum * 3 + (u32)"
        return [
            "{",
            f"    {index.kind} k = {index};",
            *([f"    {before}"] if before else []),
            f"    {f'{self.variable} = (u32)' if self.variable else sums}{load};"
            f" // {self.table.name}",
            *([f"    sum = sum * 3 + {self.variable};"] if self.variable else []),
            "}",
        ]


class Walk(Statement):
    """A pointer that goes through a table."""

    def __init__(self, table, start, rounds, step, counter):
        super().__init__([start, rounds])
        self.table, self.step, self.counter = table, step, counter

    def lines(self, context):
        start, rounds = self.expressions
        forward, i = self.step > 0, self.counter
        begin = f"+ ({start})" if forward else f"+ {self.table.size} - ({start})"
        return [
            "{",
            f"    const auto *q = {self.table.text} {begin};",
            f"    const u32 end = {rounds};",
            "    LOOP",
            '    _Pragma("unroll 1")',
            f"    for ({i} = 0; {i} < end; {i}++) {{",
            "        ROUND",
            f"        sum = sum * 3 + (u32)LOAD(q, {0 if forward else -1})"
            f"{self.table.part}; // {self.table.name}",
            f"        q += {self.step};",
            "    }",
            "}",
        ]


class Stride(Statement):
    """A loop over a table in steps of a block or a warp, from the thread's own number on."""

    def __init__(self, table, kind, first, step, behind, variable, rolled):
        super().__init__([first])
        self.table, self.kind, self.step, self.behind = table, kind, step, behind
        self.variable, self.rolled = variable, rolled

    def lines(self, context):
        load = f"{self.table.load}({self.table.text}, j){self.table.part}"
        return [
            "{",
            f"    {self.kind} j = {self.expressions[0]};",
            "    LOOP",
            *(['    _Pragma("unroll 1")'] if self.rolled else []),
            f"    for (; j < {self.table.size}; j += {self.step}) {{",
            "        ROUND",
            f"        sum = sum * 3 + (u32){load}; // {self.table.name}",
            "    }",
            f"    {self.variable} = (u32)j{self.behind};",
            "}",
        ]


class Search(Statement):
    """A binary search."""

    def __init__(self, table, key, kind, variable):
        super().__init__([key])
        self.table, self.kind, self.variable = table, kind, variable

    def lines(self, context):
        load = f"{self.table.load}({self.table.text}, middle){self.table.part}"
        return [
            "{",
            f"    {self.kind} low = 0, high = {self.table.size - 1};",
            f"    const u32 key = {self.expressions[0]};",
            "    LOOP",
            "    while (low < high) {",
            f"        const {self.kind} middle = (low + high) / 2;",
            "        ROUND",
            f"        if ((u32){load} < key) // {self.table.name}",
            "            low = middle + 1;",
            "        else",
            "            high = middle;",
            "    }",
            f"    {self.variable} = (u32)low;",
            "}",
        ]


class If(Statement):
    """Threads that tell each other something there first ask who comes."""

    def __init__(self, condition, yes, no=(), lanes=None):
        super().__init__([condition], [yes, no])
        self.mask_of_lanes = lanes

    def lines(self, context):
        mask, number, out = (
            context.mask,
            context.depth,
            [f"const bool c = {self.expressions[0]};"],
        )
        masks = [mask, mask]
        if talk(self.bodies[0] + self.bodies[1]):
            masks = [f"m{number}", f"(m{number} ^ {mask})"]
            if self.mask_of_lanes is not None and mask == "WHOLE":
                masks = [f"{self.mask_of_lanes ^ end:#x}u" for end in (0, 2**32 - 1)]
            else:
                out.append(f"const u32 m{number} = __ballot_sync({mask}, c);")
        yes, no = (
            written(body, context.within(mask=mask, direct=None))
            for body, mask in zip(self.bodies, masks)
        )
        return [
            "{",
            *(f"    {line}" for line in out),
            "    if (c) {",
            *(f"    {line}" for line in yes),
            *(["    } else {", *(f"    {line}" for line in no)] if no else []),
            "    }",
            "}",
        ]


class Switch(Statement):
    def __init__(self, number, bodies):
        super().__init__([number], bodies)

    def lines(self, context):
        out = ["switch (" + str(self.expressions[0]) + ") {"]
        for number, body in enumerate(self.bodies):
            last = number == len(self.bodies) - 1
            out.append("default:" if last else f"case {number * 2 + (number > 2)}:")
            out += written(
                [statement for statement in body if not talk([statement])],
                context.within(direct=None, loop_free=False),
            )
            out += [] if number == 1 else ["    break;"]
        return [*out, "}"]


class Loop(Statement):
    """for: so many rounds. while: as long as a condition holds. do: the same, behind the body."""

    def __init__(self, word, condition, counter, body, rolled):
        super().__init__([condition], [body])
        self.word, self.counter, self.rolled = word, counter, rolled

    def lines(self, context):
        body, i = self.bodies[0], self.counter
        condition = (
            f"{i} < ({self.expressions[0]})"
            if self.word == "for"
            else f"({self.expressions[0]}) && {i} < {ROUNDS_MAX}"
        )
        rolled = ['_Pragma("unroll 1")'] if self.rolled else []
        stay = self.word == "for" and re.fullmatch(r"[\d(u32)n&% ]+", str(self.expressions[0]))
        stay = stay and not any(isinstance(statement, Leave) for statement in body)
        if talk(body) and not stay:
            mask = f"m{context.depth}"
            inner = context.within(mask=mask, loop_free=False, direct="loop")
            return [
                "{",
                f"    u32 {mask} = {context.mask};",
                "    LOOP",
                *(f"    {line}" for line in rolled),
                f"    for ({i} = 0;; {i}++) {{",
                f"        const bool on = {condition};",
                "        ROUND",
                f"        {mask} = __ballot_sync({mask}, on);",
                "        if (!on)",
                "            break;",
                *(f"    {line}" for line in written(body, inner)),
                "    }",
                "}",
            ]
        inner = context.within(loop_free=not talk(body), direct=None if talk(body) else "loop")
        inner = written(body, inner)
        head = {
            "for": f"for ({i} = 0; {condition}; {i}++) {{",
            "while": f"while ({condition}) {{",
            "do": "do {",
        }[self.word]
        tail = {"for": "}", "while": "}", "do": f"}} while ({condition});"}[self.word]
        if self.word != "for":
            inner = [f"    {i}++;", *inner]
        return [
            "{",
            f"    {i} = 0;",
            "    LOOP",
            *(f"    {line}" for line in rolled),
            f"    {head}",
            "        ROUND",
            *(f"    {line}" for line in inner),
            f"    {tail}",
            "}",
        ]


class Jumps(Statement):
    """A loop that some threads enter in its middle: no block of it is before all others."""

    def __init__(self, condition, rounds, counter, number, bodies):
        super().__init__([condition, rounds], bodies)
        self.counter, self.number = counter, number

    def lines(self, context):
        condition, rounds = self.expressions
        inner = context.within(direct=None, loop_free=False)
        first, second = (
            written([statement for statement in body if not talk([statement])], inner)
            for body in self.bodies
        )
        return [
            "{",
            f"    {self.counter} = 0;",
            "    LOOP",
            "    ROUND",
            f"    if ({condition})",
            f"        goto middle{self.number};",
            f"head{self.number}:",
            *first,
            f"middle{self.number}:",
            *second,
            f"    {self.counter}++;",
            "    ROUND",
            f"    if ({self.counter} < ({rounds}))",
            f"        goto head{self.number};",
            "}",
        ]


class Atomic(Statement):
    """An atomic operation on memory that nothing else reads; its result is data. The place is
    hidden: where it is one for a warp, compilers let one thread do the work of all, so that what
    threads get goes with the thread, as it does in no other order of them."""

    def __init__(self, variable, form, place, value):
        super().__init__([place, value])
        self.variable, self.form = variable, form

    def lines(self, context):
        place, value = self.expressions
        hidden = f"&out[768 + HIDE(u32, (u32)({place}))]"
        return [f"{self.variable} = {self.form.format(hidden, value)};"]


class Leave(Statement):
    """break, continue or return under a condition. Where others would wait for the threads that
    leave, it stands directly in the loop or function, which then asks who stays; else it is
    nothing."""

    def __init__(self, word, condition):
        super().__init__([condition])
        self.word = word

    def lines(self, context):
        is_return = self.word.startswith("return")
        place = "function" if is_return else "loop"
        if context.function_free if is_return else context.loop_free:
            return [f"if ({self.expressions[0]})", f"    {self.word};"]
        if context.direct != place or self.word == "continue":
            return []
        mask, context.mask = context.mask, "m0" if is_return else context.mask
        return [
            "{",
            f"    const bool c = {self.expressions[0]};",
            f"    {context.mask} = __ballot_sync({mask}, !c);",
            "    if (c)",
            f"        {self.word};",
            "}",
        ]


class Talk(Statement):
    """Threads tell each other something: `form` has {mask} for those that do."""

    talks = True

    def __init__(self, variable, form, expressions, group, whole_only):
        super().__init__(expressions)
        self.variable, self.form, self.group, self.whole_only = (variable, form, group, whole_only)

    def lines(self, context):
        if self.whole_only and context.mask != "WHOLE":
            return []
        values = list(map(str, self.expressions))
        return [
            "{",
            f"    const u32 g = {self.group.format(*values, mask=context.mask)};",
            f"    {self.variable} = {self.form.format(*values, mask='g', lane='(__ffs(g) - 1)')};",
            "}",
        ]


class Call(Statement):
    """A call of a function that is not inlined."""

    def __init__(self, variable, function, expressions):
        super().__init__(expressions)
        self.variable, self.function = variable, function

    @property
    def talks(self):
        return talk(self.function.body)

    def lines(self, context):
        values = ", ".join(map(str, self.expressions))
        mask = context.mask if self.talks else "0"
        return [
            f"{self.variable} = CALL({self.function.name}, {values}, n, limit, in, {mask});",
            f"sum = sum * 3 + {self.variable};",
        ]


class Local(Statement):
    """An array of the thread: so many elements, written in a loop, one of which is read."""

    def __init__(self, variable, size, written_value, index):
        super().__init__([written_value, index])
        self.variable, self.size = variable, size

    def lines(self, context):
        value, index = self.expressions
        return [
            "{",
            f"    u32 slots[{self.size}];",
            f"    for (u32 j = 0; j < {self.size}; j++)",
            f"        slots[j] = ({value}) + j;",
            f"    {self.variable} = slots[{index}];",
            "}",
        ]


class Keep(Statement):
    """Numbers that stay in registers around a body, or have no room there."""

    def __init__(self, count, body):
        super().__init__(bodies=[body])
        self.count = count

    def lines(self, context):
        rounds = [
            '    _Pragma("unroll")',
            f"    for (u32 j = 0; j < {self.count}; j++)",
        ]
        return [
            "{",
            f"    u32 kept[{self.count}];",
            *rounds,
            "        kept[j] = in[THREAD + j * 8];",
            *written(self.bodies[0], context.within(direct=None)),
            *rounds,
            "        sum = sum * 3 + kept[j];",
            "}",
        ]


class Function:
    """A device function or the kernel: variables with their first values, a body."""

    def __init__(self, name):
        self.name, self.variables, self.body, self.result, self.shared = (name, [], [], None, None)
        self.given = "GIVEN"

    def lines(self):
        free = not talk(self.body)
        device = self.result is not None
        context = Context("m0" if device else "WHOLE", False, free, "function", 1)
        head = (
            f"static __device__ __noinline__ u32 {self.name}(u32 a, s64 b, int n, s64 limit,"
            " const u32 *in, u32 m0)"
            if device
            else f"KERNEL {self.name}(u32 *out, const u32 *__restrict__ in, const u32 *p0,"
            f" const u16 *__restrict__ p1, int n, int m, s64 limit, u64 count,"
            f" {self.given} given, TEXTURE tx)"
        )
        body = written(self.body, context)
        words = set(re.findall(r"\w+", " ".join([*body, str(self.result)])))
        out = [head, "{", "    u32 sum = 1;"]
        out += ["    u32 m0 = WHOLE;"] if "m0" in words and not device else []
        out += [
            f"    {kind} {name} = {value};" for kind, name, value in self.variables if name in words
        ]
        if self.shared and "st" in words:
            out += [
                f"    __shared__ u32 st[{self.shared[0]}];",
                f"    for (u32 j = threadIdx.x; j < {self.shared[0]}; j += blockDim.x)",
                f"        st[j] = {self.shared[1]};",
                "    __syncthreads();",
            ]
        out += body
        out.append(f"    return sum + {self.result};" if device else "    out[THREAD] = sum;")
        return [*out, "}"]


class Program:
    """Functions, and the kernel behind them."""

    def __init__(self, seed):
        self.seed, self.functions = seed, []
        self.more = self.is_flat = False  # is_flat: in blocks of two dimensions

    def lines(self, name):
        called = self.used()
        self.functions[-1].name = name
        out = [f"/* {self.seed} */"]
        out += ["#undef THREAD", "#define THREAD THREAD_OF_TWO"] if self.is_flat else []
        for number, function in enumerate(self.functions):
            if number < len(self.functions) - 1:
                if function not in called:
                    continue
                function.name = f"{name}_{number}"
            out += function.lines()
        return [*out, *(["#undef THREAD", "#define THREAD THREAD_OF_ONE"] if self.is_flat else [])]

    def used(self):
        def calls(body):
            for statement in body:
                if isinstance(statement, Call):
                    yield statement.function
                    yield from calls(statement.function.body)
                for inner in statement.bodies:
                    yield from calls(inner)

        return list(calls(self.functions[-1].body))

    @property
    def whole(self):
        """Its masks name all lanes of a warp."""
        return talk(self.functions[-1].body)

    def bodies(self):
        """All lists of statements."""

        def inside(body):
            yield body
            for statement in body:
                for inner in statement.bodies:
                    yield from inside(inner)

        for function in self.functions:
            yield from inside(function.body)

    def smaller(self):
        """Copies that have a statement or a part of an expression less."""
        count = sum(len(body) for body in self.bodies())
        for number in range(count):
            for way in ("drop", "bodies"):
                other = copy.deepcopy(self)
                place = number
                for body in other.bodies():
                    if place < len(body):
                        inner = [each for part in body[place].bodies for each in part]
                        if way == "bodies" and not inner:
                            other = None
                        elif isinstance(body[place], (Switch, Loop, If)) or way == "drop":
                            body[place : place + 1] = inner if way == "bodies" else []
                        break
                    place -= len(body)
                if other:
                    yield other
        for number in range(count):
            for other in self.simpler_at(number):
                yield other

    def simpler_at(self, number):
        def statement_of(program):
            place = number
            for body in program.bodies():
                if place < len(body):
                    return body[place]
                place -= len(body)
            raise IndexError(number)

        for place, expression in enumerate(statement_of(self).expressions):
            for new in expression.simpler():
                other = copy.deepcopy(self)
                statement_of(other).expressions[place] = copy.deepcopy(new)
                yield other


# -- drawing ---------------------------------------------------------------------------------------


def fixed(number, kind="u32"):
    ending = {"u32": "u", "s32": "", "u64": "ull", "s64": "ll"}[kind]
    return Expression(kind, f"{number}{ending}", low=number, high=number)


def leaf(kind, text, low=None, high=None):
    return Expression(kind, f"({text})" if " " in text else text, low=low, high=high)


def flavors_to(flavor):
    return FLAVORS[: FLAVORS.index(flavor) + 1]


# What a program reads of its launch, by kind and flavor.
LEAVES = {
    ("u32", "grid"): [
        ("(u32)n", 0, 15),
        ("(u32)n", 0, 15),
        ("gridDim.x", 1, BLOCKS_MAX),
        ("blockDim.x", 32, THREADS_MAX),
        ("in[n]", None, None),
        ("(u32)limit", None, None),
    ],
    ("u32", "block"): [("blockIdx.x", 0, BLOCKS_MAX - 1), ("in[blockIdx.x]", None, None)],
    ("u32", "warp"): [
        ("threadIdx.x / 32", 0, 2),
        ("in[threadIdx.x / 32]", None, None),
        ("in[THREAD / 32]", None, None),
    ],
    ("u32", "thread"): [
        ("threadIdx.x", 0, THREADS_MAX - 1),
        ("threadIdx.x", 0, THREADS_MAX - 1),
        ("LANE", 0, 31),
        ("threadIdx.x / 4", 0, 23),
        ("threadIdx.x % 8", 0, 7),
        ("THREAD", 0, THREADS_MAX * BLOCKS_MAX - 1),
    ],
    ("u32", "data"): [
        ("in[THREAD]", None, None),
        ("in[THREAD + 7]", None, None),
        ("in[threadIdx.x]", None, None),
        ("in[LANE * 3]", None, None),
    ],
    ("s64", "grid"): [("limit", None, None), ("(s64)n", 0, 15), ("limit", None, None)],
    ("s64", "block"): [("(s64)blockIdx.x", 0, BLOCKS_MAX - 1)],
    ("s64", "thread"): [
        ("(s64)threadIdx.x", 0, THREADS_MAX - 1),
        ("(s64)threadIdx.x * n", 0, 15 * THREADS_MAX),
        ("(s64)threadIdx.x << 30", 0, THREADS_MAX << 30),
    ],
    ("s64", "data"): [("(s64)in[THREAD]", 0, 2**32 - 1), ("(s64)(s32)in[THREAD]", None, None)],
    ("u64", "grid"): [("(u64)n", 0, 15), ("(u64)limit", None, None)],
    ("u64", "thread"): [("(u64)threadIdx.x", 0, THREADS_MAX - 1), ("(u64)LANE << 32", None, None)],
    ("u64", "data"): [("((u64)in[THREAD] << 32 | in[LANE])", None, None)],
}
LEAVES_OF_TWO = {  # of blocks of two dimensions
    ("u32", "grid"): [("blockDim.y", 1, 5)],
    ("u32", "thread"): [("threadIdx.y", 0, 4), ("threadIdx.y", 0, 4)],
    ("u32", "data"): [("in[threadIdx.y]", None, None)],
}
VARIABLES = {  # kind, flavor, the first value
    "g0": ("u32", "grid", "n"),
    "g1": ("u32", "grid", "5"),
    "w0": ("u32", "warp", "threadIdx.x / 32"),
    "t0": ("u32", "thread", "threadIdx.x"),
    "t1": ("u32", "thread", "LANE * 3"),
    "d0": ("u32", "data", "in[THREAD]"),
    "d1": ("u32", "data", "in[threadIdx.x]"),
    "gl": ("s64", "grid", "limit"),
    "tl": ("s64", "thread", "threadIdx.x"),
    "dl": ("u64", "data", "in[THREAD]"),
    "gb": ("bool", "grid", "n > 4"),
    "tb": ("bool", "thread", "threadIdx.x > 40"),
    "db": ("bool", "data", "in[THREAD] & 1"),
}
GROUPS = (  # of the lanes that are there; {0} is a number
    "{mask}",
    "{mask}",
    "{mask}",
    "({mask} & (LANE & 16 ? 0xffff0000u : 0xffffu))",
    "({mask} & (0xffu << (LANE & 24)))",
    "({mask} & (LANE & 1 ? 0xaaaaaaaau : 0x55555555u))",
    "__match_any_sync({mask}, ({0}) & 3)",
    "__match_any_sync({mask}, ({0}) % 5 > 1)",
)
TALKS = (  # what gives a number; {1} is another, {2} a condition
    "__shfl_sync({mask}, {1}, {lane})",
    "__shfl_sync({mask}, {1}, 31 - __clz((s32){mask}))",
    "__ballot_sync({mask}, {2})",
    "__popc(__ballot_sync({mask}, {2}))",
    "(u32)__ffs(__ballot_sync({mask}, {2}))",
    "__match_any_sync({mask}, ({1}) & 7)",
    "__popc(__match_any_sync({mask}, ({1}) & 3))",
    "__any_sync({mask}, {2})",
    "__popc({mask})",
    "{mask}",
)
REDUCTIONS = tuple(
    f"__reduce_{name}_sync({{mask}}, {{1}})" for name in ("add", "min", "max", "and", "or", "xor")
)
TALKS_OF_CONDITION = ("__any_sync({mask}, {2})", "__all_sync({mask}, {2})")
TALKS_OF_ALL = (
    "__shfl_sync(WHOLE, {1}, 5)",
    "__shfl_sync(WHOLE, {1}, ({0}) & 31)",
    "__shfl_sync(WHOLE, {1}, 3, 8)",
    "__shfl_xor_sync(WHOLE, {1}, 16)",
    "__shfl_xor_sync(WHOLE, {1}, 1)",
    "__shfl_up_sync(WHOLE, {1}, 2)",
    "__shfl_down_sync(WHOLE, {1}, 4)",
    "__shfl_down_sync(WHOLE, {1}, 1, 16)",
)
TILES = (
    "cg::tiled_partition<16>(cg::this_thread_block()).shfl({1}, 3)",
    "cg::tiled_partition<32>(cg::this_thread_block()).shfl({1}, 7)",
    "cg::tiled_partition<8>(cg::this_thread_block()).any({2})",
    "cg::tiled_partition<32>(cg::this_thread_block()).all({2})",
    "cg::tiled_partition<16>(cg::this_thread_block()).ballot({2})",
    "cg::tiled_partition<4>(cg::this_thread_block()).shfl_xor({1}, 1)",
    "cg::tiled_partition<16>(cg::this_thread_block()).meta_group_rank()",
    "cg::reduce(cg::tiled_partition<16>(cg::this_thread_block()), {1}, cg::plus<u32>())",
    "cg::reduce(cg::tiled_partition<32>(cg::this_thread_block()), {1}, cg::greater<u32>())",
)


ATOMICS = (
    "atomicAdd({0}, {1})",
    "atomicMax({0}, {1})",
    "atomicOr({0}, {1})",
    "atomicExch({0}, {1})",
    "atomicCAS({0}, 0u, {1})",
)


class Maker:
    """Draws a program."""

    def __init__(self, seed, tables, has_reductions, has_tiles, more=False):
        self.draw, self.program = random.Random(seed), Program(seed)
        self.all_tables, self.has_reductions, self.has_tiles = (tables, has_reductions, has_tiles)
        self.jumps_drawn = 0
        self.program.more = more
        if more:
            self.program.is_flat = self.chance(0.5)
            self.has_tiles = has_tiles and not self.program.is_flat
            self.all_tables = [*tables, *MORE_TABLES]
        self.device = self.depth = 0
        self.counters, self.flavor_of_a, self.budget = [], "grid", 0
        self.talkative = self.chance(0.5)
        self.last = None  # the variable that a statement gave a value

    def chance(self, share):
        return self.draw.random() < share

    def pick(self, choices):
        return self.draw.choice(choices)

    def flavor(self):
        return self.draw.choices(FLAVORS, (5, 2, 2, 4, 3))[0]

    # -- expressions

    def leaves(self, kind, flavor):
        more = LEAVES_OF_TWO.get((kind, flavor), ()) if self.program.is_flat else ()
        return (*LEAVES.get((kind, flavor), ()), *more)

    def leaf(self, kind, flavor):
        if kind == "bool":
            return self.condition(flavor, 0)
        found = [
            leaf(kind, *row)
            for each in flavors_to(flavor)
            for row in self.leaves(kind, each)
            # what says more is asked for less often
            for _ in range(3 if each == flavor else 1)
        ]
        found += [
            leaf(kind, name)
            for name, (its, each, _) in VARIABLES.items()
            if its == kind and each in flavors_to(flavor)
            for _ in range(2 if each == flavor else 1)
        ]
        if kind == "u32":
            found += [leaf(kind, name, 0, ROUNDS_MAX) for name in self.counters * 3]
            if self.device and self.flavor_of_a in flavors_to(flavor):
                found += [leaf(kind, "a")] * 4
        if kind == "s64" and self.device and self.flavor_of_a in flavors_to(flavor):
            found += [leaf(kind, "b")] * 3
        numbers = LONG_NUMBERS if kind in ("u64", "s64") else NUMBERS
        return fixed(self.pick(numbers), kind) if self.chance(0.15) else self.pick(found)

    def condition(self, flavor, depth):
        kind = self.pick(("u32", "s64", "u64", "u32", "s32", "s64"))
        if self.chance(0.15):
            name = self.pick([n for n, row in VARIABLES.items() if row[0] == "bool"])
            if VARIABLES[name][1] in flavors_to(flavor):
                return leaf("bool", name)
        if depth > 0 and self.chance(0.2):
            parts = [self.condition(flavor, depth - 1) for _ in range(2)]
            return Expression(
                "bool", "(", parts[0], self.pick((" && ", " || ", " != ")), parts[1], ")"
            )
        if self.chance(0.1):
            number = self.number("u32", flavor, depth - 1)
            return Expression("bool", "((", number, f" & {self.pick((1, 2, 4, 16, 31))}u) != 0)")
        other = flavors_to(flavor)[-1] if self.chance(0.2) else self.pick(flavors_to(flavor))
        a, b = self.number(kind, flavor, depth - 1), self.number(kind, other, depth - 1)
        if self.chance(0.5):
            b = fixed(self.pick(LONG_NUMBERS if kind in ("u64", "s64") else NUMBERS), kind)
        if self.chance(0.2):
            a, b = b, a
        sign = self.pick((" < ", " < ", " >= ", " == ", " != ", " > ", " <= "))
        return Expression("bool", "(", a, sign, b, ")")

    def number(self, kind, flavor, depth):
        if depth <= 0 or self.chance(0.15):
            return self.converted(kind, flavor) if kind == "s32" else self.leaf(kind, flavor)
        way = self.pick(
            (
                "sum",
                "sum",
                "product",
                "bits",
                "shift",
                "divide",
                "choose",
                "least",
                "convert",
                "function",
            )
        )
        return getattr(self, way)(kind, flavor, depth - 1)

    def pair(self, kind, flavor, depth):
        pair = [
            self.number(kind, flavor, depth),
            self.number(kind, self.pick(flavors_to(flavor)), depth),
        ]
        self.draw.shuffle(pair)
        return pair

    def sum(self, kind, flavor, depth):
        if kind[0] == "s":
            return self.wrapped(kind, flavor, depth, " + ")
        a, b = self.pair(kind, flavor, depth)
        if self.chance(0.2):
            return Expression(kind, "(", a, " - ", b, ")")
        return Expression(kind, "(", a, " + ", b, ")", low=a.low + b.low, high=a.high + b.high)

    def wrapped(self, kind, flavor, depth, sign):
        """Signed arithmetic that wraps."""
        a, b = self.pair(kind, flavor, depth)
        other = f"u{kind[1:]}"
        return Expression(kind, f"({kind})(({other})", a, f"{sign}({other})", b, ")")

    def product(self, kind, flavor, depth):
        a, times = self.number(kind, flavor, depth), self.pick((2, 3, 4, 5, 8, 12, 16, 24, 36, 100))
        if kind[0] == "s":
            return self.wrapped(kind, flavor, depth, " * ")
        if self.chance(0.15):
            return Expression(kind, "(", a, " * ", self.number(kind, "grid", depth), ")")
        return Expression(kind, "(", a, f" * {times}u)", low=a.low * times, high=a.high * times)

    def bits(self, kind, flavor, depth):
        a, b = self.pair(kind, flavor, depth)
        if self.chance(0.5):
            mask = self.pick((1, 3, 7, 12, 15, 24, 28, 31, 48, 63, 127, 255, 0xFFFF))
            return Expression(kind, f"({kind})(", a, f" & {mask}u)", low=0, high=mask)
        sign, top = self.pick((" & ", " | ", " ^ ")), None
        if min(a.low, b.low) >= 0:
            top = 2 ** max(a.high, b.high).bit_length() - 1
        return Expression(kind, "(", a, sign, b, ")", low=0 if top is not None else None, high=top)

    def shift(self, kind, flavor, depth):
        a, by = self.number(kind, flavor, depth), self.draw.randrange(BITS[kind])
        if self.chance(0.6):
            by = self.pick((1, 2, 3, 4, 5))
        if self.chance(0.15):
            amount = self.number("u32", "grid" if self.chance(0.6) else flavor, 0)
            sign = " >> " if kind[0] == "s" else self.pick((" >> ", " << "))
            return Expression(kind, "(", a, sign, "(", amount, f" & {BITS[kind] - 1}u))")
        if kind[0] == "s" or self.chance(0.5):
            return Expression(kind, "(", a, f" >> {by})", low=a.low >> by, high=a.high >> by)
        return Expression(kind, "(", a, f" << {by})", low=a.low << by, high=a.high << by)

    def divide(self, kind, flavor, depth):
        a, by = self.number(kind, flavor, depth), self.pick((2, 3, 4, 5, 7, 8, 16, 32, 10))
        if kind[0] == "s" and a.low < 0:
            return Expression(kind, "(", a, f" / {by})")
        if self.chance(0.5):
            return Expression(
                kind, f"({kind})(", a, f" / {by}u)", low=a.low // by, high=a.high // by
            )
        return Expression(kind, f"({kind})(", a, f" % {by}u)", low=0, high=min(by - 1, a.high))

    def choose(self, kind, flavor, depth):
        condition = self.condition(self.pick(flavors_to(flavor)), depth)
        a, b = self.pair(kind, flavor, depth)
        return Expression(
            kind,
            "(",
            condition,
            " ? ",
            a,
            " : ",
            b,
            ")",
            low=min(a.low, b.low),
            high=max(a.high, b.high),
        )

    def least(self, kind, flavor, depth):
        a, b = self.pair(kind, flavor, depth)
        name, function = self.pick((("min", min), ("max", max)))
        return Expression(
            kind,
            f"{name}({kind}(",
            a,
            f"), {kind}(",
            b,
            "))",
            low=function(a.low, b.low),
            high=function(a.high, b.high),
        )

    def convert(self, kind, flavor, depth):
        other = self.pick([each for each in ("u32", "s32", "u64", "s64") if each != kind])
        a = self.number(other, flavor, depth)
        least, largest = KINDS[kind]
        fits = least <= a.low and a.high <= largest
        return Expression(kind, f"({kind})(", a, ")", low=a.low if fits else None, high=a.high)

    def converted(self, kind, flavor):
        return self.convert(kind, flavor, 0)

    def function(self, kind, flavor, depth):
        a = self.number("u32", flavor, depth)
        text, high = self.pick(
            (
                ("(u32)__popc(", 32),
                ("(u32)__clz((s32)", 32),
                ("(u32)__ffs((s32)", 32),
                ("__brev(", None),
                ("__umulhi(0x9e3779b9u, ", None),
                ("__byte_perm(0u, 0x4321u, ", None),
                ("(u32)(u8)(", 255),
                ("(u32)(u16)(", 65535),
                ("(u32)(s16)(", None),
            )
        )
        out = Expression("u32", text, a, ")", low=None if high is None else 0, high=high)
        return (
            out if kind == "u32" else Expression(kind, f"({kind})", out, low=out.low, high=out.high)
        )

    # -- indices

    def pieces(self, size, flavor):
        """A sum of numbers times factors that fits."""
        parts, low, high = [], 0, 0
        found = [
            leaf("u32", *row)
            for each in flavors_to(flavor)
            for row in self.leaves("u32", each)
            if row[1] is not None
        ] + [leaf("u32", name, 0, ROUNDS_MAX) for name in self.counters * 2]
        for _ in range(self.pick((1, 2, 2, 3))):
            part, times = self.pick(found), self.pick((1, 1, 1, 2, 3, 4))
            if high + part.high * times < size:
                high, low = high + part.high * times, low + part.low * times
                parts += [" + " if parts else "(", part, f" * {times}u" if times > 1 else ""]
        if not parts:
            return self.bounded(size, flavor)
        return Expression("u32", *parts, ")", low=low, high=high)

    def bounded(self, size, flavor):
        """A number that is made to fit."""
        way, depth = self.draw.randrange(8), self.pick((0, 1, 1, 2, 2, 3))
        if way < 3:
            a = self.number("u32", flavor, depth)
            if a.high < size:
                return a
            power = 1 << (size.bit_length() - 1)
            if way == 0:
                return Expression("u32", "(", a, f" % {size}u)", low=0, high=size - 1)
            return Expression("u32", "(", a, f" & {power - 1}u)", low=0, high=power - 1)
        if way == 3:
            kind = self.pick(("u64", "u32"))
            a = self.number(kind, flavor, depth)
            return Expression(
                kind, f"min({kind}(", a, f"), {kind}({size - 1}))", low=0, high=size - 1
            )
        if way == 4:
            kind = self.pick(("u64", "s64"))
            a = self.number(kind, flavor, depth)
            return Expression(
                "u32",
                "((u64)(",
                a,
                f") < {size}ull ? (u32)(",
                a,
                f") : {self.draw.randrange(size)}u)",
                low=0,
                high=size - 1,
            )
        if way == 5:
            a = self.number("s64", flavor, depth)
            return Expression(
                "s64", "(", a, f" & {(1 << (size.bit_length() - 1)) - 1}ll)", low=0, high=size - 1
            )
        if way == 6:
            by = self.number("u64", flavor, depth)
            return Expression("u64", "(", by, f" % {size}ull)", low=0, high=size - 1)
        return self.chosen(size, flavor)

    def chosen(self, size, flavor):
        yes, no = (self.pieces(size, self.pick(FLAVORS[:3])) for _ in range(2))
        if self.chance(0.4):
            yes = fixed(self.draw.randrange(size))
        condition = self.condition(flavor, self.pick((0, 1, 2)))
        return Expression(
            "u32",
            "(",
            condition,
            " ? ",
            yes,
            " : ",
            no,
            ")",
            low=min(yes.low, no.low),
            high=max(yes.high, no.high),
        )

    def index(self, size):
        flavor = self.flavor()
        return self.pick((self.pieces, self.bounded, self.bounded, self.chosen))(size, flavor)

    # -- statements

    def table(self):
        free = [each for each in self.all_tables if not (self.device and each.of_kernel)]
        table = self.pick(free)
        return table

    def variable(self, kind="u32"):
        return self.pick([name for name, row in VARIABLES.items() if row[0] == kind])

    def assign(self):
        name = self.pick(list(VARIABLES))
        kind, flavor, _ = VARIABLES[name]
        flavor = self.pick(flavors_to(flavor)) if self.chance(0.4) else flavor
        depth = self.pick((0, 1, 2, 2, 3))
        return Assign(
            name, (self.condition if kind == "bool" else self.numbers(kind))(flavor, depth)
        )

    def numbers(self, kind):
        return lambda flavor, depth: self.number(kind, flavor, depth)

    def load(self):
        table = self.table()
        self.all_tables = [each for each in self.all_tables if each is not table]
        index = self.index(table.size)
        forms = ["plain"] * 4 + ["reversed", "long", "beyond", "before"]
        forms += ["hidden"] * 2 + ["short"] * (not table.part)
        variable = self.pick(("d0", "d1")) if self.chance(0.3) else None
        return Load(table, index, self.pick(forms), variable)

    def walk(self):
        table, step = self.table(), self.pick((1, 1, 2, 3, -1, -2))
        if table.size <= 8 * abs(step) or len(self.counters) > 1 or table.load != "LOAD":
            return self.load()
        self.all_tables = [each for each in self.all_tables if each is not table]
        room = table.size - 8 * abs(step)
        start = self.bounded(room, self.flavor())
        rounds = self.bounded(ROUNDS_MAX, self.pick(FLAVORS))
        return Walk(table, start, rounds, step, f"i{len(self.counters)}")

    def stride(self):
        table = self.table()
        self.all_tables = [each for each in self.all_tables if each is not table]
        steps = [step for step in (32, 48, 64, 128, 256, 320) if table.size <= 8 * step]
        first = self.pick(("threadIdx.x", "threadIdx.x", "LANE", "(threadIdx.x & 63)", "THREAD"))
        self.last = self.variable()
        return Stride(
            table,
            self.pick(("u32", "s32")),
            leaf("u32", first, 0, 1023),
            self.pick(steps),
            self.pick(("", " / 32u", " & 0xe0u", " >> 8")),
            self.last,
            self.chance(0.4),
        )

    def search(self):
        table = self.table()
        self.all_tables = [each for each in self.all_tables if each is not table]
        key = self.number("u32", self.flavor(), 1)
        return Search(table, key, self.pick(("u32", "u64", "s64")), self.variable())

    def branch(self):
        if self.talkative and self.chance(0.3):
            text = self.pick(list(LANES))
            return If(
                leaf("bool", f"({text})"),
                self.body(),
                self.body() if self.chance(0.4) else (),
                LANES[text],
            )
        condition = self.condition(self.flavor(), self.pick((0, 1, 2)))
        return If(condition, self.body(), self.body() if self.chance(0.4) else ())

    def switch(self):
        number = self.number("u32", self.flavor(), 1)
        number = Expression("u32", "(", number, " & 7u)", low=0, high=7)
        return Switch(number, [self.body() for _ in range(self.pick((3, 4, 6)))])

    def loop(self):
        if len(self.counters) > 1:
            return self.assign()
        word, flavor = self.pick(("for", "for", "for", "while", "do")), self.flavor()
        if word == "for":
            condition = self.bounded(ROUNDS_MAX, flavor)
            if self.chance(0.3):
                condition = self.pick((fixed(4), leaf("u32", "((u32)n & 7u)", 0, 7)))
        else:
            condition = self.condition(flavor, 1)
        name = f"i{len(self.counters)}"
        self.counters.append(name)
        body = self.body()
        self.counters.pop()
        return Loop(word, condition, name, body, self.chance(0.7))

    def jumps(self):
        if len(self.counters) > 1:
            return self.assign()
        name, self.jumps_drawn = f"i{len(self.counters)}", self.jumps_drawn + 1
        number, condition = self.jumps_drawn, self.condition(self.flavor(), 1)
        rounds = self.bounded(ROUNDS_MAX, self.flavor())
        self.counters.append(name)
        bodies = [self.body(), self.body()]
        self.counters.pop()
        return Jumps(condition, rounds, name, number, bodies)

    def atomic(self):
        if self.device:
            return self.assign()
        place, value = self.bounded(256, self.flavor()), self.number("u32", self.flavor(), 1)
        self.last = self.pick(("d0", "d1", "t0", "g0"))
        return Atomic(self.last, self.pick(ATOMICS), place, value)

    def leave(self):
        words = ["return sum + a"] if self.device else ["return (void)(out[THREAD] = sum)"]
        words += ["break", "break", "continue"] if self.counters else []
        return Leave(self.pick(words), self.condition(self.flavor(), 1))

    def talk(self):
        if not self.talkative:
            return self.assign()
        forms = list(TALKS) + list(REDUCTIONS) * self.has_reductions
        name, whole_only, group = self.variable(), False, self.pick(GROUPS)
        if self.chance(0.15):
            name, forms = self.variable("bool"), TALKS_OF_CONDITION
        elif self.chance(0.35):
            forms, whole_only, group = (TALKS_OF_ALL + TILES * self.has_tiles, True, "{mask}")
        values = [self.number("u32", self.flavor(), 1), self.number("u32", self.flavor(), 1)]
        self.last = name if VARIABLES[name][0] == "u32" else None
        return Talk(
            name, self.pick(forms), [*values, self.condition(self.flavor(), 1)], group, whole_only
        )

    def call(self, flavor=None):
        if self.device or not self.program.functions:
            return self.assign()
        function = self.pick(self.program.functions)
        kinds = ("u32", "s64")
        values = [self.number(kind, flavor or self.flavor(), 1) for kind in kinds]
        self.last = self.variable()
        return Call(self.last, function, values)

    def local(self):
        size = self.pick((4, 6, 8))
        value = self.number("u32", self.flavor(), 1)
        return Local(self.variable(), size, value, self.bounded(size, self.flavor()))

    def use(self, variable):
        """A load at an index that follows from a variable."""
        table = self.table()
        self.all_tables = [each for each in self.all_tables if each is not table]
        number, power = leaf("u32", variable), 1 << (table.size.bit_length() - 1)
        index = self.pick(
            (
                Expression("u32", "(", number, f" & {power - 1}u)", low=0, high=power - 1),
                Expression("u32", "(", number, f" % {table.size}u)", low=0, high=table.size - 1),
                Expression(
                    "u32",
                    "min(u32(",
                    number,
                    f"), u32({table.size - 1}))",
                    low=0,
                    high=table.size - 1,
                ),
            )
        )
        return Load(table, index, self.pick(("plain", "plain", "hidden", "long")))

    def arms(self):
        """A branch that gives a variable one of two values."""
        name, flavor = self.pick(("g0", "g1", "w0", "t0")), self.pick(FLAVORS[:3])
        arms = []
        for _ in range(2):
            call = self.program.functions and not self.device and self.chance(0.6)
            arms.append(self.call(flavor) if call else Assign(name, self.number("u32", flavor, 1)))
            if isinstance(arms[-1], Call):
                arms[-1].variable = name
        condition = self.condition(self.flavor(), 1)
        more = [[arm, self.statement()] if self.chance(0.3) else [arm] for arm in arms]
        more[0] += [] if self.device else [Store()]
        self.last = name
        return If(condition, *more)

    def keep(self):
        return Keep(self.pick((12, 20, 28)), self.body())

    def statements(self):
        """A statement, and behind it a load where it gave a variable a value."""
        self.last = None
        out = [self.statement()]
        variable = self.last
        if variable and self.room_for_tables() and self.chance(0.7):
            out.append(self.use(variable))
        return out

    def statement(self):
        ways = {"assign": 8, "load": 8, "walk": 1, "search": 1, "talk": 5, "call": 3, "local": 1}
        ways |= {"arms": 3, "stride": 1}
        if self.depth < 3:
            ways |= {"branch": 6, "loop": 4, "switch": 1, "keep": 1}
        if self.depth > 0 or self.device or self.chance(0.3):
            ways["leave"] = 2
        if self.program.more:
            ways |= {"jumps": 4 if self.depth < 3 else 0, "atomic": 3}
        way = self.draw.choices(list(ways), ways.values())[0]
        if way in ("load", "walk", "search", "stride") and not self.room_for_tables():
            way = "assign"
        return getattr(self, way)()

    def room_for_tables(self):
        return any(not (self.device and each.of_kernel) for each in self.all_tables)

    def body(self):
        self.depth += 1
        out = [self.statements() for _ in range(self.pick((1, 2, 2, 3)))]
        self.depth -= 1
        return [statement for each in out for statement in each]

    def make(self):
        for _ in range(self.pick((0, 1, 1, 2))):
            plain = self.chance(0.4)  # the result follows from the argument alone
            self.device, self.flavor_of_a = True, "grid" if plain else self.flavor()
            function = Function("")
            for _ in range(0 if plain else self.pick((2, 3, 4))):
                function.body += self.statements()
            result = self.number("u32", "grid" if plain else self.flavor(), 2)
            if plain:
                result = Expression("u32", "(a + ", result, ")")
            function.result, function.variables = result, self.variables()
            self.program.functions.append(function)
        self.device, kernel = False, Function("")
        if self.program.more:
            kernel.given = self.pick(("GIVEN", "GIVEN_COPY"))
        kernel.shared = (128, self.pick(("in[j]", "in[j] & 31", "j * 3", "(u32)n + j", "in[n]")))
        for _ in range(self.pick((4, 6, 8, 10))):
            kernel.body += self.statements()
        kernel.body += [self.load(), self.load()] if len(self.all_tables) > 4 else []
        kernel.variables = self.variables()
        self.program.functions.append(kernel)
        return self.program

    def variables(self):
        counters = [("u32", f"i{number}", "0") for number in range(3)]
        return counters + [(kind, name, value) for name, (kind, _, value) in VARIABLES.items()]


MORE_TABLES = (
    Table("given.first", "a0", 32, "u32"),
    Table("given.second", "a1", 40, "u16"),
    Table("tx", "x0", 1024, "u32"),
)


def draw_tables(seed):
    """The tables of a file, and the text that declares them."""
    draw, tables, text = random.Random(seed), [], []
    for number in range(16):
        place = "constant" if number < 11 else "device"
        name = f"{'ct' if place == 'constant' else 'gt'}{number}"
        element = draw.choice(("u8", "u16", "u32", "u32", "u32", "u64", "pair"))
        size = draw.choice((16, 24, 32, 40, 48, 64, 65, 100, 128, 200, 300))
        kind = "uint2" if element == "pair" else element
        if number % 5 == 4:
            other = draw.choice((8, 20, 36))
            text.append(
                f"struct of_{name} {{ u8 head[{draw.choice((4, 12, 24))}]; {kind} first[{size}];"
                f" u32 second[{other}]; }};"
            )
            text.append(f"__{place}__ of_{name} {name};")
            tables += [Table(f"{name}.first", name, size, element)]
            tables += [Table(f"{name}.second", name, other, "u32")]
        else:
            text.append(f"__{place}__ {kind} {name}[{size}];")
            tables.append(Table(name, name, size, element))
    tables += [Table("p0", "p0", 1024, "u32"), Table("p1", "p1", 1024, "u16")]
    tables += [Table("st", "st", 128, "u32")]
    return tables, text


def draw_program(seed, tables, has_reductions, has_tiles):
    """`seed` ends in the number of the program in its file."""
    more = int(seed.rsplit("/", 1)[1]) % 4 == 3
    return Maker(seed, tables, has_reductions, has_tiles, more).make()
