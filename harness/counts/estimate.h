/* SPDX-License-Identifier: MIT
 * The simple time of a cell: how long each unit of a chip is busy with what its loads ask for, by exact counts and the
 * numbers of the card.
 *
 *   time = launch + what comes before the loads + the longest of the units' busy times
 *
 * A unit of an SM is busy with the blocks of the busiest SM, a unit of the chip with all of them. One "unit" is latency:
 * blocks come in waves, as many as the SMs hold; each waits for its input, its table and its output, and nothing hides the
 * work of its own warps meanwhile. The docs of enum time_unit say what each is busy with. */
#ifndef CBANK_ESTIMATE_H
#define CBANK_ESTIMATE_H

#include "access.h"
#include "card.h"
#include "counter.h"

enum time_unit {
    TIME_ISSUE,    /* instructions of all warps / issue_per_cycle */
    TIME_CONSTANT, /* distinct addresses of loads through the L1 constant cache x constant_address_cycles */
    TIME_FILL,     /* lines that this cache misses x constant_fill_cycles. A footprint within constant_l1_bytes misses
                      nothing. Else a line of a block is missed with the share of the footprint that does not fit */
    TIME_L1,       /* loads / l1_requests_per_cycle or texture_requests_per_cycle, or the wavefronts that look up lines and
                      banks, whichever takes longer; and wavefronts of shared memory / shared_wavefronts_per_cycle */
    TIME_L2,       /* input, output, and sectors of the table that do not come from L1 / l2_bytes_per_ns */
    TIME_L2_LINE,  /* loads past L1 x l2_line_ns: of one line one after the other, of n lines the square root of n at a
                      time, since lines meet in the slices of L2 */
    TIME_DRAM,     /* input, output and table, as far as L2 does not keep them / dram_bytes_per_ns. L2 keeps data of half its
                      size, less of more, and nothing of data of its whole size; nothing in a cold cell */
    TIME_START,    /* blocks x block_start_ns */
    TIME_LATENCY,  /* waves of blocks x the life of one, and the busy time of its own SM for one block of them */
    TIME_UNITS
};

/* What a unit is called, and what it is, for people. */
struct time_unit_row {
    const char *name, *summary;
};

extern const struct time_unit_row time_units[TIME_UNITS];

/* Measured over modelled times lie from 1 / TIME_MODEL_ERROR to TIME_MODEL_ERROR for nine of ten cells. It is chosen by the
 * results of an H200, and checked by those of an H100: scripts/studies/model_error.py prints both. */
#define TIME_MODEL_ERROR 1.25

/* A time with the interval that the numbers of the card allow, and the error of the model: low <= value <= high. */
struct time_range {
    double value, low, high;
};

/* What is known of a cell's kernel. */
struct time_kernel {
    uint32_t registers;       /* of a thread; 0: not known, and taken to be few */
    double instructions;      /* that the warps of a launch execute; NaN: not known, and only loads are counted */
    double constant_requests; /* of the L1 constant cache, with those of parameters; NaN: not known, and only the table's
                                 are counted */
};

enum { ESTIMATE_HOST_COPY = 1 << CARD_NUMBERS };

struct cell_estimate {
    double busy_ns[TIME_UNITS]; /* 0: the cell does not use the unit; NaN: the card lacks a number of it */
    enum time_unit longest;     /* of those that are known */
    uint32_t missing;           /* numbers of the card that the time needs and the card lacks: a bit for each enum card_key,
                                   and ESTIMATE_HOST_COPY where the host writes the table before a launch */
    /* Where a number is missing, value is NaN, high is infinite, and low is what the known units take at least. */
    struct time_range time_ns;
};

/* What counters are expected of a cell's code; NaN of those that its code, where it is not known, would have to say. */
struct time_kernel estimate_kernel(const struct expectation *expectation);

/* Estimates the time of one launch. `access` are the exact counts of the cell; kernel NULL where nothing is known. */
void estimate_time(const struct cell *cell, const struct access_counts *access, const struct card *card,
                   const struct time_kernel *kernel, struct cell_estimate *out);

/* Writes what `missing` says: "launch_ns, l2_line_ns", and what no card says. "" where nothing is missing. */
void estimate_missing_text(const struct cell_estimate *estimate, char out[CARD_TEXT_BYTES]);

#endif
