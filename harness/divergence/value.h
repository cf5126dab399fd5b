/* SPDX-License-Identifier: MIT
 * Values of registers, as far as they are known, and arithmetic on them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "status.h"

enum { WARP_LANES = 32, WORD_BITS = 32, HALF_BITS = 16 };

enum level { LEVEL_CONSTANT, LEVEL_GRID, LEVEL_BLOCK, LEVEL_WARP };

/* Why the part of the lanes is not known. */
enum why {
    WHY_NONE,
    WHY_DATA, /* it comes from memory: this counts before the others */
    WHY_BRANCH,
    WHY_LOOP,
    WHY_ARITHMETIC,
    WHY_HIGH,
    WHY_STRIDES,
    WHY_LANES,
    WHY_SHAPE,
    WHY_CALL,
    WHY_UNSET,
    WHY_OPERATION,
    WHY_ROUNDS,
    WHY_IMAGE,
    WHY_COUNT
};

/* Kinds of the lanes' part. LANES_GIVEN: some function of the thread, the block, and what is the
 * same in the grid. From LANES_TABLE on, it is known: the number of a table. */
enum { LANES_SAME, LANES_ANY, LANES_STRIDE, LANES_GIVEN, LANES_TABLE };

enum {
    /* it may differ in the lanes, as the high word of 64 bits does when the low one carries */
    FLAG_HIGH = 1,
    FLAG_WHOLE = 2, /* its low bits are known if blockDim.x is a multiple of 32 ... */
    FLAG_RELIED = 4, /* ... and that has decided something */
    FLAG_HALF = 8, /* all this is of its low 16 bits: those above are not known */
    /* Data may be in it, which threads of the grid do not share: in the shared part, or the stride.
     * Always of LANES_ANY. */
    FLAG_DATA = 16,
    FLAG_SIGNED = 32, /* it may be below zero as a signed number, overflow aside */
};

struct value {
    uint32_t known; /* the low `bits` bits of the shared part */
    /* what constants were added to it: the offset of a table, if it is the address of one */
    uint32_t displacement;
    uint32_t from; /* the instruction that made it, or the block in which ways met */
    uint16_t lanes, origin;
    uint8_t bits, level, why, flags;
};

/* The tables of what lanes add: number 0 of each is 0. */
struct lane_tables {
    uint32_t (*tables)[WARP_LANES]; /* owned */
    uint16_t *slots; /* owned: a hash table of their numbers */
    size_t count;
};

enum status lane_tables_open(struct lane_tables *out);
void lane_tables_close(struct lane_tables *tables);

/* The number that a lane adds; 0 for LANES_SAME. */
uint32_t lane_of(const struct lane_tables *tables, const struct value *value, unsigned lane);

struct value value_number(uint32_t number);
struct value value_shared(enum level level); /* LEVEL_WARP: of data */
struct value value_any(enum why why);
struct value value_given(enum why why); /* lanes that are apart by what is no data */

/* The value of lanes that are known entirely. */
struct value value_lanes(struct lane_tables *tables, const uint32_t lanes[WARP_LANES]);

/* The value, which also follows from what has these flags: FLAG_RELIED and FLAG_DATA stay. */
struct value value_relied(struct value value, uint8_t flags);

bool value_is_number(const struct value *value); /* one number */
bool value_is_known(const struct value *value); /* a number in each lane */
/* the same in all lanes, and no high word of others */
bool value_is_shared(const struct value *value);
bool value_is_given(const struct value *value); /* lanes are apart by what is no data */

/* The same value, where it is used as anything but the high word of an address. */
struct value value_plain(struct value value);

/* The value where 16-bit operations leave something in its upper half: of values with these
 * flags. */
struct value value_half(struct value value, uint8_t flags);

struct value value_add(struct lane_tables *tables, struct value a, struct value b);
struct value value_negate(struct lane_tables *tables, struct value a);
struct value value_multiply(struct lane_tables *tables, struct value a, struct value b);
struct value value_shift_right(struct lane_tables *tables, struct value a, unsigned by,
                               bool is_signed);

/* Three operands and a table of 8 results, as of LOP3. */
struct value value_logic(struct lane_tables *tables, const struct value operands[3],
                         unsigned results);

/* Some function of the values that is not followed. */
struct value value_function(const struct value *values, size_t count);
struct value value_of_both(struct value a, struct value b); /* the same of two */

/* One of two, by a predicate. */
struct value value_select(struct lane_tables *tables, struct value predicate, struct value yes,
                          struct value no);

/* Where ways meet: at which level the choice is, if it differs by thread why, and the flags of what
 * it follows from. */
struct value value_meet(struct value a, struct value b, enum level level, enum why why,
                        uint8_t flags);

/* Whether nothing but where they are from differs. */
bool value_equal(const struct value *a, const struct value *b);
