/* SPDX-License-Identifier: MIT
 * The memory spaces of users' kernels, ranked by time: for each kernel, size and cache state of a
 * result. JSON, schema results/ranking.schema.json; it is written and never read. */
#pragma once

#include "cell_row.h"
#include "document.h"
#include "judge.h"
#include "result.h"

enum rank_verdict {
    RANK_NONE, /* it has no rank, or the times do not tell: see enum cell_verdict */
    RANK_FASTEST,
    RANK_AS_FAST,
    RANK_TOO_CLOSE,
    RANK_SLOWER,
    RANK_SLOWER_ON_AVERAGE, /* and at some pairs of addresses as fast, or faster */
    RANK_VERDICTS
};

/* Words of text and JSON; NULL: it has none. */
extern const char *const rank_verdict_words[RANK_VERDICTS];

/* To the fastest; the interval as in struct cell_row, and NaN for the fastest. */
struct rank_ratio {
    double value, half_width, ci_low, ci_high;
};

/* Times by the addresses of a cell's buffers. */
struct rank_addresses {
    bool given; /* there are several, and samples of each */
    uint32_t count;
    double least_ns, most_ns; /* of the medians at each */
    /* of pairs of addresses, one of each memory space: where it is slower than the fastest. NaN:
     * the fastest, or one without a rank */
    double slower_share;
};

/* A memory space of a kernel, size and cache state. */
struct rank {
    struct cell_row row; /* the first member, as the columns require */
    struct judged_cell judged; /* BASE is the fastest */
    bool timed; /* it has a rank: it was timed, and its output verified */
    uint32_t place; /* 1 for the fastest; 0 without a rank */
    enum rank_verdict verdict;
    struct rank_ratio ratio;
    struct rank_addresses addresses;
    char space[USER_KERNEL_SPACES_BYTES + 16]; /* with a mark where the file has it */
    char why[GRID_NOTE_BYTES]; /* why it may be slower; "" */
};

struct ranking {
    const struct result *result; /* not owned; ranks point into it */
    double threshold; /* the change of time that counts, 0.01 for 1 % */
    /* owned: those of a kernel, size and cache state are neighbours, the fastest first; those
     * without a rank come last */
    struct rank *ranks;
    size_t count;
};

/* Ranks the cells of a result. STATUS_ENVIRONMENT, logged, when out of memory. The caller closes
 * *out, even after an error. */
enum status ranking_open(const struct result *result, double threshold, struct ranking *out);
void ranking_close(struct ranking *ranking);

/* The end of the ranks of the kernel, size and cache state that begin at `first`. */
size_t ranking_group_end(const struct ranking *ranking, size_t first);

/* The document of struct ranking. */
extern const struct document ranking_document;
