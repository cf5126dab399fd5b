/* SPDX-License-Identifier: MIT
 * Abstract values: what is known of a register in the 32 lanes of a warp, and arithmetic on it.
 *
 * Each lane has the sum of a uniform part, which all have, and of what it adds itself:
 *
 *     lane         0        1        2       ...     31
 *     value      u + 0    u + 4    u + 8           u + 124       such as u + 4 * threadIdx.x
 *                    lanes: a table of 32 numbers
 *
 *     u   31            bits          0     known: the low `bits` bits. All of u is the same in the
 *         +---------------+-----------+     code, in the grid, in a block, in a warp: `level`.
 *         |   not known   |   known   |
 *         +---------------+-----------+
 *
 * Both parts are lattices. Where paths join, a value goes up to the lowest that covers both:
 *
 *     u        WARP       lanes                DIVERGENT     anything; data may be in it
 *               |                                  |
 *             BLOCK                             THREAD       some function of the thread, no data
 *               |                      /      /    |     \
 *              GRID              UNIFORM  table  table ... AFFINE
 *               |                 (all 0)                  a stride that is not known
 *            CONSTANT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "status.h"
#include "value_range.h"

enum { WARP_LANES = 32, WARP_LANES_BITS = 5, WORD_BITS = 32, HALF_BITS = 16 };

enum level { LEVEL_CONSTANT, LEVEL_GRID, LEVEL_BLOCK, LEVEL_WARP };

/* Why the part of the lanes is not known. A uniform value has one of the first two. */
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

/* Kinds of the lanes' part. LANES_THREAD: some function of the thread, the block, and what is the
 * same in the grid. LANES_AFFINE: a stride, which is not known, times the lane. From LANES_TABLE
 * on, it is known: the number of a table. */
enum { LANES_UNIFORM, LANES_DIVERGENT, LANES_AFFINE, LANES_THREAD, LANES_TABLE };

enum {
    /* it may differ in the lanes, as the high word of 64 bits does when the low one carries */
    FLAG_HIGH = 1,
    FLAG_WHOLE = 2, /* its low bits are known if blockDim.x is a multiple of 32 ... */
    FLAG_RELIED = 4, /* ... and that has decided something */
    FLAG_HALF = 8, /* all this is of its low 16 bits: those above are not known */
    /* Data may be in it, which threads of the grid do not share: in the uniform part, or the
     * stride. Always of LANES_DIVERGENT. */
    FLAG_DATA = 16,
    FLAG_SIGNED = 32, /* it may be below zero as a signed number, overflow aside */
};

struct value { /* without padding: its bytes are compared */
    uint32_t known; /* the low `bits` bits of the uniform part */
    /* what constants were added to it: the offset of a table, if it is the address of one */
    uint32_t displacement;
    uint32_t from; /* the instruction that made it, or the block where paths joined */
    uint16_t lanes, origin;
    uint16_t several; /* 1: paths that met had added different constants */
    uint8_t bits, level, why, flags;
    /* of LANES_DIVERGENT and LANES_THREAD: bits of a lane's number; lanes that differ in one of
     * them alone have the same value */
    uint16_t alike;
    /* of lanes that are not known: how many low bits of each are known, see value_low.h */
    uint8_t low_bits;
    /* of lanes that are not known: bits from this one on are the same in all, see value_low.h; 0:
     * none */
    uint8_t uniform_from;
    uint16_t low_lanes;
    uint32_t low_known;
    /* of lanes that are not known: a table of lanes, which all are turned around a ring by one
     * amount that is not known, see value_ring.h; 0: none. The ring's size is a multiple of
     * 2^ring_zeros, the amount one of 2^turn_zeros */
    uint16_t ring;
    uint8_t ring_zeros, turn_zeros;
    struct range range; /* zeroed: any; of known lanes, see value_range */
};

enum { ALL_ALIKE = (1 << WARP_LANES_BITS) - 1 };

/* The tables of what lanes add: number 0 of each is 0. */
struct lane_tables {
    uint32_t (*tables)[WARP_LANES]; /* owned */
    uint16_t *slots; /* owned: a hash table of their numbers */
    size_t count;
};

enum status lane_tables_open(struct lane_tables *out);
void lane_tables_close(struct lane_tables *tables);

/* The number that a lane adds; 0 for LANES_UNIFORM. */
uint32_t lane_of(const struct lane_tables *tables, const struct value *value, unsigned lane);

struct value value_number(uint32_t number);
struct value value_uniform(enum level level); /* LEVEL_WARP: data may be in it */
struct value value_loaded(void); /* one value for a warp, from memory */
struct value value_divergent(enum why why);
struct value value_of_thread(enum why why); /* lanes that are apart by what is no data */

/* The value of lanes that are known entirely. */
struct value value_lanes(struct lane_tables *tables, const uint32_t lanes[WARP_LANES]);

/* Bits of a lane's number on which the value does not depend. */
uint8_t value_alike(const struct value *value);

/* The value, whose lanes are also alike in this bit. Of all bits, it is uniform. */
struct value value_alike_in(struct value value, uint8_t bit);

/* The value, which also follows from what has these flags: FLAG_RELIED and FLAG_DATA stay. */
struct value value_relied(struct value value, uint8_t flags);

/* The value, which is known to lie there. */
struct value value_in_range(struct value value, struct range range);

/* Where it may lie in any lane: a number, or what was worked out of the operands that made it. */
struct range value_range(const struct lane_tables *tables, const struct value *value);

bool value_is_number(const struct value *value); /* one number */
bool value_is_known(const struct value *value); /* a number in each lane */
/* the same in all lanes, and no high word of others */
bool value_is_uniform(const struct value *value);
bool value_is_of_thread(const struct value *value); /* lanes are apart by what is no data */

/* Whether what lanes add stays within the low bits that are known: the bits above are the same in
 * all lanes. */
bool value_lanes_stay(const struct lane_tables *tables, const struct value *value);

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

/* An unsigned quotient. False: it is not followed. */
bool value_divide(struct lane_tables *tables, struct value a, uint32_t by, struct value *out);

/* Three operands and a table of 8 results, as of LOP3. */
struct value value_logic(struct lane_tables *tables, const struct value read[3], unsigned results);

/* Some function of the values that is not followed. */
struct value value_function(const struct value *values, size_t count);
struct value value_of_both(struct value a, struct value b); /* the same of two */

/* One of two, by a predicate. */
struct value value_select(struct lane_tables *tables, struct value predicate, struct value yes,
                          struct value no);

/* The join of the values of two paths: `level` and `flags` are of what decides which path is taken,
 * `why` says why it differs by thread; WHY_NONE: it does not. */
struct value value_join(const struct lane_tables *tables, struct value a, struct value b,
                        enum level level, enum why why, uint8_t flags);

/* Whether nothing but where they are from differs. */
bool value_equal(const struct value *a, const struct value *b);
