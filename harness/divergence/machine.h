/* SPDX-License-Identifier: MIT
 * What instructions do to the values of registers: see value.h. Registers of all kinds and words of
 * the stack have one numbering: see instruction.h. */
#pragma once

#include "code_facts.h"
#include "instruction.h"
#include "value.h"

enum {
    SLOTS = 64, /* words of the stack that are followed */
    VALUES = REGISTER_COUNT + SLOTS,
    SPECIAL_LANE = 0x00,
    SPECIAL_TID_X = 0x21,
    SPECIAL_TID_Y = 0x22,
    SPECIAL_TID_Z = 0x23
};

/* The value of a register where the predicate holds under which it was written last. Compilers
 * guard an address and its load by one predicate. */
struct guarded {
    struct value value;
    uint32_t visit; /* of a block; of another one, it does not count */
    uint32_t from; /* what made the predicate */
    uint16_t guard;
    bool negated;
};

/* That a register is the high word of a product of a value and a number, unsigned: shifted to the
 * right it is a quotient. */
struct quotient {
    struct value dividend;
    uint32_t factor;
    uint32_t visit, from; /* as in `guarded`; `from` made the register */
};

/* That a register has the one or the other value, the same one in all lanes of a warp: the lesser
 * of two. What both make of the rest of a sum may say more than the sum of what covers both. */
struct choice {
    struct value values[2];
    struct value first; /* a predicate: it has the first of them */
    uint32_t visit, from; /* as in `quotient` */
};

/* That a register has what another one had, of the lane whose number differs in one bit. */
struct exchange {
    uint32_t visit, written; /* as in `guarded`; when it was written */
    uint16_t source;
    uint8_t bit; /* of the lane's number; 0: none */
};

struct machine {
    const struct instruction *instructions; /* by number: those that are reached */
    uint32_t architecture;
    const struct code_facts *facts;
    struct lane_tables lanes;
    bool flat; /* the kernel never reads tid.y or tid.z */
    /* threads of a warp wait for those of a mask of their own, and execute apart from the others:
     * what is one value for all that execute is not one for the warp */
    bool partial;
    /* threads of a warp may have stored different words in their local memory, or at different
     * places. Else, where no branch leads them apart, all have stored the same there. */
    bool local_apart;
    bool diverged; /* a branch leads threads of a warp apart: they need not join at once */
    bool whole; /* all threads of a warp execute the block together */
    uint32_t visit; /* counts visits of blocks: `guarded` and the like are of one */
    struct guarded guarded[REGISTER_COUNT];
    struct quotient quotients[REGISTER_COUNT];
    struct choice choices[REGISTER_COUNT];
    struct exchange exchanges[REGISTER_COUNT];
    uint32_t writes, written[REGISTER_COUNT]; /* registers that were written, and when each was */
};

/* Executes the instruction number `index`. state: VALUES values. */
void machine_execute(struct machine *machine, struct value *state, uint32_t index);

/* The pointer to the stack, at the begin of a kernel. */
struct value machine_stack_pointer(const struct machine *machine);

/* A number in a constant bank, at a known offset in bytes. */
struct value machine_constant(const struct machine *machine, unsigned bank, uint32_t offset);

/* The value of a register or predicate. A uniform one is the same in a warp. */
struct value machine_register(const struct machine *machine, const struct value *state,
                              uint32_t number);

/* The value of a predicate, or its inverse. */
struct value machine_predicate(struct machine *machine, const struct value *state, uint32_t number,
                               bool negated);

/* The value of predicate input `i` of an instruction, and some function of all of them. */
struct value machine_input(struct machine *machine, const struct value *state,
                           const struct instruction *in, unsigned i);
struct value machine_inputs(struct machine *machine, const struct value *state,
                            const struct instruction *in);

/* Whether a call is taken: by its guard, and by the predicate that it takes beside it. */
struct value machine_condition(struct machine *machine, const struct value *state,
                               const struct instruction *in);

/* Word `word` of source `i` of the instruction number `index`. */
struct value machine_source(struct machine *machine, const struct value *state,
                            const struct instruction *in, uint32_t index, unsigned i,
                            unsigned word);

/* The uniform register beside the operands of an instruction: some function of its words. A number,
 * if it has none. */
struct value machine_handle(const struct machine *machine, const struct value *state,
                            const struct instruction *in);

/* The address of a load or store: its low word, and in *high its high word. */
struct value machine_address(struct machine *machine, const struct value *state,
                             const struct instruction *in, uint32_t index, struct value *high);

/* Exchanges the values that an instruction reads with those that they have under its guard; and
 * back. */
void machine_exchange(struct machine *machine, struct value *state, const struct instruction *in);
