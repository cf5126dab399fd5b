/* SPDX-License-Identifier: MIT
 * The simple time of a cell: the busy time of each unit of a chip, from exact counts and the
 * numbers of the card.
 *
 *   time = launch + work before the loads + the longest busy time of a unit
 *
 * A unit of an SM is busy with the blocks of the busiest SM, a unit of the chip with all of them.
 * One "unit" is latency. Blocks come in waves, as many as the SMs hold. Each block waits for its
 * input, its table and its output, and meanwhile nothing hides the work of its own warps. enum
 * time_unit documents the busy time of each unit. */
#pragma once

#include "access.h"
#include "card.h"
#include "counter.h"
#include "optional.h"

enum time_unit {
    TIME_ISSUE,    /* instructions of all warps / issue_per_cycle */
    /* distinct addresses of loads through the L1 constant cache x constant_address_cycles */
    TIME_CONSTANT,
    /* lines that this cache misses x constant_fill_cycles. A footprint within constant_l1_bytes has
     * no misses. Above, a block's line misses with the share of the footprint that does not fit */
    TIME_FILL,
    TIME_L1, /* loads / l1_requests_per_cycle or texture_requests_per_cycle, or the wavefronts that
                look up lines and banks, whichever takes longer; plus wavefronts of shared memory /
                      shared_wavefronts_per_cycle */
    /* input, output, and sectors of the table that do not come from L1 / l2_bytes_per_ns */
    TIME_L2,
    TIME_L2_LINE, /* loads past L1 x l2_line_ns: those of one line are served one after the other; n
                     lines are served sqrt(n) at a time, since lines share slices of L2 */
    TIME_DRAM, /* input, output and table, as far as L2 does not keep them / dram_bytes_per_ns. L2
                  keeps all data up to half its size, less above, and nothing from its whole size
                  on; nothing in a cold cell */
    TIME_START, /* blocks x block_start_ns */
    /* waves of blocks x the life of one, plus the busy time of its SM for one block */
    TIME_LATENCY,
    TIME_UNITS
};

/* The name and the description of a unit, for people. */
struct time_unit_row {
    const char *name, *summary;
};

extern const struct time_unit_row time_units[TIME_UNITS];

/* Assumed: by this factor a simple time may be off either way, besides the intervals of the card.
 * Verdicts on tables need a larger difference. What may be printed as a time has intervals of its
 * own: model_error.h. */
#define TIME_MODEL_ERROR 1.25

/* A time with the interval from the numbers of the card and the error of the model: low <= value <=
 * high. */
struct time_range {
    double value, low, high;
};

/* The known facts of a cell's kernel. */
struct time_kernel {
    uint32_t registers; /* of a thread; 0: not known, assumed to be few */
    /* executed by the warps of a launch; not known: only loads count */
    struct optional instructions;
    /* of the L1 constant cache, including parameters; not known: only the table's count */
    struct optional constant_requests;
};

enum { ESTIMATE_HOST_COPY = 1 << CARD_NUMBERS };

struct cell_estimate {
    /* 0: the cell does not use the unit; NaN: the card lacks a number of it */
    double busy_ns[TIME_UNITS];
    enum time_unit longest; /* among the known ones */
    /* the longest busy time of a unit whose work is counted exactly, with the ends of the card's
     * intervals that make it short: a cell takes this long at least. 0: none is known */
    double least_ns;
    enum time_unit least_unit;
    /* in each wave of blocks, before the loads: the table's copy to shared memory */
    double copy_ns;
    uint32_t
        missing; /* numbers that the time needs and the card lacks: a bit for each enum card_key,
                    and ESTIMATE_HOST_COPY if the host writes the table before a launch */
    /* If a number is missing, value is NaN, high is infinite, and low is the least time of the
     * known units. */
    struct time_range time_ns;
};

/* The expected counters of a cell; without those that need the cell's code if it is not known. */
struct time_kernel estimate_kernel(const struct expectation *expectation);

/* Estimates the time of one launch. `access` holds the exact counts of the cell; kernel is NULL if
 * nothing is known. */
void estimate_time(const struct cell *cell, const struct access_counts *access,
                   const struct card *card, const struct time_kernel *kernel,
                   struct cell_estimate *out);

/* Writes the names in `missing`: "launch_ns, l2_line_ns", and the copy by the host. "" if nothing
 * is missing. */
void estimate_missing_text(const struct cell_estimate *estimate, char out[CARD_TEXT_BYTES]);
