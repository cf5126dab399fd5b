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

/* Whether it makes the lesser of two words, or the greater. */
bool transfer_is_least(const struct step *step, bool *is_signed);

/* Where its result lies, if that follows from the instruction alone. */
struct range transfer_range(const struct step *step);

/* The value of word `word` of the registers that it writes. */
struct value transfer_register(const struct step *step, unsigned word);

/* Whether it makes a high word of a product of a value and a number, unsigned: of these, `dividend`
 * and `factor`. */
bool transfer_quotient(const struct step *step, struct quotient *out);

/* Whether it makes the lesser or the greater of two, and the same one in all lanes: of these, all
 * but `visit` and `from`. */
bool transfer_choice(const struct step *step, struct choice *out);

/* The value of a predicate that it writes; `first`: the first of them. */
struct value transfer_predicate(const struct step *step, bool first);

/* The answer of a comparison, where it is known in each lane, or is the same in all of them. False:
 * neither. */
bool transfer_answer(const struct step *step, struct value *out);

/* The high word of a sum of high words, whose low word is such; NULL: the carry is among the
 * parts. */
struct value transfer_high(const struct value *parts, size_t count, const struct value *low);

/* The word of the stack at an address; SLOTS: none that is followed. */
unsigned stack_slot(const struct value *address);

/* Word `word` of source `i`, predicate input `i`, and a field. */
struct value step_source(const struct step *step, unsigned i, unsigned word);
struct value step_input(const struct step *step, unsigned i);
uint32_t step_field(const struct step *step, enum bit_field field);

/* -- transfer_memory.c ------------------------------------------------------------------------- */

struct value transfer_special(const struct step *step);
struct value transfer_load(const struct step *step, unsigned word);
struct value transfer_shuffle(const struct step *step); /* the value that each lane gets */

/* Whether lanes exchange values with those whose number differs in one bit. */
bool transfer_exchange(const struct step *step, struct exchange *out);

/* The value that an instruction makes of what lanes have exchanged: see there. */
struct value transfer_butterfly(const struct step *step, struct value value);
struct value transfer_warp(const struct step *step); /* one value for all threads of a warp */
struct value transfer_lanes(const struct step *step); /* of what other lanes have */

/* Whether it moves a register of the threads to a uniform one. */
bool is_r2ur(const struct instruction *in);
