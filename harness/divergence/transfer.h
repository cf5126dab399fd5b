/* SPDX-License-Identifier: MIT
 * Transfer functions: the abstract value of what an instruction writes, by the values that it
 * reads. */
#pragma once

#include "machine.h"

/* An instruction that is executed: number `index` of the code, in a state of VALUES values. */
struct step {
    struct machine *machine;
    const struct value *state;
    const struct instruction *in;
    uint32_t index;
};

/* The value of word `word` of the registers that it writes. */
struct value transfer_register(const struct step *step, unsigned word);

/* The value of a predicate that it writes; `first`: the first of them. */
struct value transfer_predicate(const struct step *step, bool first);

/* The high word of a sum of high words, whose low word is such; NULL: the carry is among the
 * parts. */
struct value transfer_high(const struct value *parts, size_t count, const struct value *low);

/* The word of the stack at an address; SLOTS: none that is followed. */
unsigned stack_slot(const struct value *address);
