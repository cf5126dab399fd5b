/* SPDX-License-Identifier: MIT
 * The arguments of the kernels of probes.cu and sharing.cu, and the readings that they take.
 * Pointers are device pointers. As in kernel_args.h, the table follows by a const __restrict__
 * pointer and by value.
 *
 * The table of a probe holds links: the value at an offset is the offset to load next. Offsets are
 * in bytes; for the texture path they are in elements. */
#pragma once

#include <stdint.h>

/* The measurement of a warp: clock() before and after its loads, and the SM on which it ran. */
struct probe_reading {
    uint32_t begin, end;
    uint32_t sm;
    uint32_t valid; /* 1: written, and the loaded values agree with the links */
};

/* The first parameter of every probe. */
struct probe_args {
    const uint32_t *table;
    uint64_t texture;
    uint32_t zero; /* always 0, unknown to the compiler */
    /* words that every block first copies into shared memory, for paths that read them there */
    uint32_t staged_words;

    /* Lane i begins at start + i % distinct * stride. */
    uint32_t start, distinct, stride;

    /* probe_chain and probe_stream: PROBE_LOADS loads in each iteration; all iterations but the
     * first are timed. In probe_chain, the links lead every lane back to its start. In
     * probe_stream, every link leads to itself. */
    uint32_t iterations;
    struct probe_reading *readings; /* one for each warp */

    /* probe_chase: follows links from `start` on, the first `warm_up` untimed, then `timed` of them
     * timed one by one. The cycles of access i are added to cycles[i]. readings[0].end is the
     * offset at which it ends. One thread does that: of the only block, or of the first one on SM
     * number sm - 1, which sets *taken. */
    uint32_t warm_up, timed;
    uint32_t *cycles;
    uint32_t sm; /* from 1; 0: there is one block */
    uint32_t *taken; /* 0 before the launch */
};

/* Loads in one iteration. */
enum { PROBE_LOADS = 16 };

/* probe_sharing: one block on every SM. The block with turn 0 loads every `step` bytes of the
 * constant bank up to `bytes`. Then the other blocks, one after the other, load one word each: turn
 * t loads the word at (t - 1) * grain, and turn 0 its last word once more. The cycles of that load
 * go to readings[block], which a block without a turn does not write. The turn of a block is its
 * number minus `first`, modulo the number of blocks. */
struct probe_sharing_args {
    uint32_t *turn; /* 0 before the launch */
    uint32_t first, bytes, step, grain;
    uint32_t zero;
    struct probe_reading *readings;
};

/* Readings of *turn until a block gives up: tens of milliseconds. The turns of a whole launch take
 * less than one. */
enum { PROBE_SHARING_SPINS = 1 << 17 };

/* probe_relay: a pointer chase over the constant banks of several modules. Each of `members`
 * modules launches one block on every SM. The blocks on one SM do the chase: the first SM that runs
 * all of them. Address a is byte a % CBANK_TABLE_BYTES of the bank of member a / CBANK_TABLE_BYTES.
 * The member that the baton names loads until a link leads to the bank of another. The accesses are
 * as in probe_chase: `warm_up` untimed, then `timed` into cycles[i]. readings[member].end is the
 * address at which the chase ended. */
struct probe_relay_args {
    uint64_t *baton; /* accesses made x 2^32 + the next address */
    /* [sm_count], 0 before the launch: bit k is set where member k has a block */
    uint32_t *present;
    uint32_t *arrived; /* 0 before the launch: number of blocks that run */
    /* blocks: of all members together; 0: the kernel does nothing */
    uint32_t member, members, blocks;
    /* if the others do not arrive within wait_us, there is no reading */
    uint32_t sm_count, wait_us;
    uint32_t zero;
    uint32_t warm_up, timed;
    uint32_t *cycles;
    struct probe_reading *readings;
};

/* Largest number of members. */
enum { PROBE_MEMBERS = 8 };

/* probe_transfer: two blocks of PROBE_TRANSFER_THREADS threads on every SM move data, `iterations`
 * times, of which all but the first are timed. All words of the source are `word`.
 *   width 0: all blocks together read the `bytes` of the source past L1, 16 bytes a load, and with
 *            a target copy them there. Readings are in ns.
 *   width 4, 8, 16: each warp reads the first PROBE_TRANSFER_LOADS x 32 x width bytes of the source
 *            by loads of that width. Readings are in cycles of the SM. */
struct probe_transfer_args {
    const uint32_t *source; /* aligned to 256 bytes */
    uint32_t *target; /* NULL: none */
    uint64_t bytes; /* a multiple of PROBE_TRANSFER_TILE_BYTES */
    uint32_t width, iterations, word;
    uint32_t zero;
    struct probe_reading *readings; /* one for each warp */
};

enum {
    PROBE_TRANSFER_THREADS = 512,
    PROBE_TRANSFER_LOADS = 8, /* of a thread in one iteration, with a width */
    PROBE_TRANSFER_TILE = 4, /* of a thread at a time, without */
    PROBE_TRANSFER_TILE_BYTES = PROBE_TRANSFER_TILE * PROBE_TRANSFER_THREADS * 16,
};
