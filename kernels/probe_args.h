/* SPDX-License-Identifier: MIT
 * What the kernels of probes.cu are launched with, and what they measure. Pointers are device pointers. As in
 * kernel_args.h, the table follows by a const __restrict__ pointer and by value.
 *
 * The table of a probe holds links: the value at an offset is the offset to load next. Offsets are in bytes, and in
 * elements where the path is by texture. */
#ifndef CBANK_PROBE_ARGS_H
#define CBANK_PROBE_ARGS_H

#include <stdint.h>

/* What a warp measured: clock() before and after its loads, and where it ran. */
struct probe_reading {
    uint32_t begin, end;
    uint32_t sm;
    uint32_t valid; /* 1: written, and what was loaded is what the links say */
};

/* The first parameter of every probe. */
struct probe_args {
    const uint32_t *table;
    uint64_t texture;
    uint32_t zero; /* always 0, unknown to the compiler */
    uint32_t staged_words; /* that every block copies into shared memory first, where the path is by it */

    /* Lane i begins at start + i % distinct * stride. */
    uint32_t start, distinct, stride;

    /* probe_chain and probe_stream: PROBE_LOADS loads each; all but the first are timed. The links of probe_chain lead
     * every lane back to where it begins, those of probe_stream from everywhere to itself. */
    uint32_t iterations;
    struct probe_reading *readings; /* one for each warp */

    /* probe_walk: links followed from `start` on, first untimed, then each timed. What access i took is added to
     * cycles[i]. readings[0].end: where it ends. */
    uint32_t warm_up, timed;
    uint32_t *cycles;
};

/* Loads of one iteration. */
enum { PROBE_LOADS = 16 };

/* probe_sharing: one block on every SM. The block whose turn is 0 loads every `step` bytes of the constant bank up to
 * `bytes`; then the blocks, in turn, load one word each: turn t that at (t - 1) * grain. Its cycles go to
 * readings[block]. The turn of a block is its number past `first`, around. */
struct probe_sharing_args {
    uint32_t *turn; /* 0 before the launch */
    uint32_t first, bytes, step, grain;
    uint32_t zero;
    struct probe_reading *readings;
};

/* probe_relay: a walk over the constant banks of several modules. Each of `members` modules launches one block on every
 * SM. Of the SMs on which all of them run it is the first whose blocks walk: address a is byte a % CBANK_TABLE_BYTES of
 * the bank of member a / CBANK_TABLE_BYTES, and the member that the baton names loads until a link leads to another's
 * bank. Accesses as of probe_walk: `warm_up` untimed, then `timed` into cycles[i].
 * readings[member].end: where the walk ended. */
struct probe_relay_args {
    uint64_t *baton; /* accesses made x 2^32 + the next address */
    uint32_t *present; /* [SMs], 0 before the launch: bit k where member k has a block */
    uint32_t *arrived; /* 0 before the launch: blocks that run */
    uint32_t member, members, blocks; /* of all members together; 0 of them: the kernel does nothing */
    uint32_t sm_count, wait_us; /* without a reading where the others do not come in this time */
    uint32_t zero;
    uint32_t warm_up, timed;
    uint32_t *cycles;
    struct probe_reading *readings;
};

/* Members at most. */
enum { PROBE_MEMBERS = 8 };

/* probe_code: one thread follows links of the constant bank as probe_walk does, `warm_up` of them; runs `chunks` pieces
 * of straight code; and follows `timed` more. */
struct probe_code_args {
    uint32_t start, warm_up, timed, chunks;
    uint32_t zero;
    float one; /* 1, unknown to the compiler */
    uint32_t *cycles;
    struct probe_reading *readings;
};

/* Instructions of one piece of code, and pieces. */
enum { PROBE_CHUNK_INSTRUCTIONS = 256, PROBE_CHUNKS_MAX = 32 };

#endif
