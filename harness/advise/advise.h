/* SPDX-License-Identifier: MIT
 * Advice: where a table should live. The lookups of one configuration are counted for every memory
 * space that can hold the table, and their time is estimated by a card. A space is called slower
 * only where the intervals of both times lie apart. */
#pragma once

#include "estimate.h"
#include "grid.h"
#include "plan.h"

struct document;
struct code_comparison;
struct user_code;

/* Times that differ by at most this share count as equal. */
#define ADVISE_EQUAL 0.01

/* The comparison of a memory space with the best one. */
enum advise_standing {
    ADVISE_FIRST,
    ADVISE_ALIKE_FIRST, /* its time is within ADVISE_EQUAL */
    ADVISE_TOO_CLOSE,   /* the intervals of the two times overlap */
    ADVISE_SLOWER,
    ADVISE_UNKNOWN, /* the card lacks numbers of one of them */
    ADVISE_STANDING_COUNT
};

extern const char *const advise_standing_names[ADVISE_STANDING_COUNT]; /* names in the document */

/* A path with the configuration. */
struct advised_space {
    const struct path *path;
    struct cell cell;
    struct access_counts access;
    struct cell_estimate estimate;
    char interval[64];         /* "2 us to 3 us", or a lower bound */
    double relative; /* time relative to the best one; NaN if one of them is not known */
    double requests_per_load; /* see access_requests_per_load */
    enum advise_standing standing;
    const char *bound; /* the unit that is busy longest */
    char reason[CELL_REASON_BYTES]; /* why it cannot hold the table; "" if it can */
};

/* Exact averages over the loads of a warp. They follow from the indices, for every path whose
 * lookups take the fewest instructions: one, or several for wide entries. */
struct advised_facts {
    bool given; /* false: the code of --kernel alone is advised about, without lookups */
    double addresses, lines, sectors, wavefronts;
    uint64_t footprint_bytes;
};

struct advice {
    struct card card;
    struct cell cell; /* the configuration: without a path */
    const char *indices_path; /* NULL: the indices were made */
    const char *written_path; /* the kernel file of --write; NULL: none */
    /* owned: `count` ranked ones, then those that cannot hold the table */
    struct advised_space *spaces;
    size_t count, excluded;
    const char *choice; /* the best path; NULL: no time is known */
    /* owned: the command line of cbank run that measures all paths that may be the best */
    char *measure;
    struct advised_facts facts;
    const struct user_code *code; /* of --kernel; NULL: not given; not owned */
    const struct code_comparison *comparison; /* of --against; NULL: not given; not owned */
    bool all_loads; /* of the code, all loads and tables are printed */
};

/* Counts and estimates the cells of a plan, which differ by their path alone, and ranks them. The
 * list keeps the indices; `indices_path` is their file, NULL if they were made. STATUS_USAGE,
 * logged, if no path can hold the table or an index is beyond it; STATUS_ENVIRONMENT when out of
 * memory. On success the caller closes *out. */
enum status advise_open(const struct plan *plan, const struct card *card,
                        struct index_list *indices, const char *indices_path, struct advice *out);

/* Sorts the spaces: first by their times, then those without a time, last the excluded ones. Sets
 * relative and standing. */
void advise_rank(struct advice *advice);

/* Checks, before anything is printed, that --write can write its file. STATUS_USAGE, logged, if the
 * file exists, which a user may have changed, or if a formula gives the indices. */
enum status advise_write_check(const struct plan_options *options, const char *path);

/* Writes the lookups as a kernel file, or to stdout for "-". STATUS_USAGE, logged, if it cannot be
 * written, or for a long path of a file of indices. */
enum status advise_write(const struct advice *advice, const char *path);

/* Releases; accepts a zeroed struct. */
void advise_close(struct advice *advice);

/* Prints advice as text. STATUS_ENVIRONMENT when out of memory. */
enum status advise_print(FILE *stream, const struct advice *advice, const struct print_style *look);

/* Prints a paragraph; lines after the first are indented. */
#define advise_put(stream_, look_, ...)                                                           \
    text_paragraph((struct text_wrap){.stream = (stream_), .width = (look_)->width, .indent = 4}, \
                   __VA_ARGS__)

/* Makes the command line advice->measure. The caller frees it; NULL when out of memory. */
char *advise_run_command(const struct advice *advice);

/* The document of struct advice, as in results/advice.schema.json; it is not read. */
extern const struct document advise_document;
