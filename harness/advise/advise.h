/* SPDX-License-Identifier: MIT
 * Advice: where a table should live. The lookups of one configuration are counted for every memory
 * space that can hold the table. With a GPU they are measured there, and ranked as compare judges.
 * Without one, measured lookups that are near say what they can. */
#pragma once

#include "device.h"
#include "estimate.h"
#include "grid.h"
#include "near.h"
#include "plan.h"

struct document;
struct code_comparison;
struct ranking;
struct user_code;

/* Times that differ by at most this share count as equal. */
#define ADVISE_EQUAL 0.01

/* Memory spaces of an answer where nothing is measured, at most. */
enum { ADVISE_ANSWER_MAX = 3 };

/* The comparison of a memory space with the best one: as compare judges it (enum rank_verdict), or
 * by near lookups (near.h). */
enum advise_standing {
    ADVISE_FIRST,
    ADVISE_ALIKE_FIRST,
    ADVISE_TOO_CLOSE,
    ADVISE_SLOWER,
    ADVISE_SLOWER_ON_AVERAGE,
    ADVISE_UNKNOWN, /* it was not measured, and near lookups do not tell */
    ADVISE_STANDING_COUNT
};

extern const char *const advise_standing_names[ADVISE_STANDING_COUNT]; /* names in the document */

/* A path with the configuration. */
struct advised_space {
    const struct path *path;
    struct cell cell;
    struct access_counts access;
    double busy_ns; /* the longest of a unit, at least; 0: the card knows none */
    const char *unit; /* that unit; NULL: none */
    double requests_per_load; /* see access_requests_per_load */
    struct near_space near;
    char near_text[32]; /* "1.02x to 1.10x"; "" */
    /* measured here, ns; NaN: it was not */
    double time_ns, ci_low, ci_high, half_width; /* the last is relative */
    double ratio; /* of it to the fastest */
    enum advise_standing standing;
    char why[GRID_NOTE_BYTES]; /* it may be slower, or has no time; "" */
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
    struct near_lookups near;
    char device[DEVICE_TEXT_BYTES]; /* that measured; "": nothing was measured */
    const char *choice; /* the best path; NULL: none is said to be */
    const char *why; /* there is none; NULL where there is one */
    /* owned: the command line of cbank run that measures all paths that may be the best */
    char *measure;
    struct advised_facts facts;
    const struct user_code *code; /* of --kernel; NULL: not given; not owned */
    const struct code_comparison *comparison; /* of --against; NULL: not given; not owned */
    bool all_loads; /* of the code, all loads and tables are printed */
};

/* Counts the lookups of a plan, whose cells differ by their path alone, and ranks memory spaces by
 * measured lookups that are near. The list keeps the indices; `indices_path` is their file, NULL if
 * they were made; `measured` may be NULL, and must stay. STATUS_USAGE, logged, if no path can hold
 * the table or an index is beyond it; STATUS_ENVIRONMENT when out of memory. On success the caller
 * closes *out. */
enum status advise_open(const struct plan *plan, const struct card *card,
                        struct index_list *indices, const char *indices_path,
                        const struct measured *measured, struct advice *out);

/* Ranks the memory spaces by what was measured of these very lookups. STATUS_ENVIRONMENT when out
 * of memory. */
enum status advise_take(struct advice *advice, const struct ranking *ranking);

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
