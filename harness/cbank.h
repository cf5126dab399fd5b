/* SPDX-License-Identifier: MIT
 * libcbank: plan, run, read a result, compare. The program cbank is cbank_main.
 *
 * Errors and warnings go to stderr, each once, with what to do about it. Functions return the
 * program's exit codes. On an error *out is NULL. Whatever a function gives in *out is the caller's
 * to close; closing NULL is allowed. Texts belong to what they were asked of. Nothing here is safe
 * to call from several threads at a time. Link with -lcbank -lcjson -lpthread -ldl -lrt -lm. */
#ifndef CBANK_H
#define CBANK_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum cbank_status {
    CBANK_OK = 0,           /* done, nothing worse */
    /* wrong output, an exact counter differs, a failed cell, a regression */
    CBANK_FINDING = 1,
    CBANK_USAGE = 2,        /* bad options, I/O, malformed input */
    CBANK_ENVIRONMENT = 3,  /* no GPU, no memory, not comparable */
    CBANK_INCONCLUSIVE = 4, /* the data do not decide */
};

/* Longest identity of a cell, NUL included: "add/constant/per_warp/128000/1024/hot" is one. */
enum { CBANK_IDENTITY_BYTES = 320 };

/* The version of the library, "0.1.0". */
const char *cbank_version(void);

/* The program as a function: argv as main has it, the exit code in return. */
int cbank_main(int argc, char **argv);

/* -- plan: the cells that options ask for ------------------------------------------------------ */

struct cbank_plan;

/* Plans by `count` options of `cbank run`, each a word such as "--path=constant". */
enum cbank_status cbank_plan(size_t count, const char *const *options, struct cbank_plan **out);
size_t cbank_plan_cells(const struct cbank_plan *plan);

/* The identity of cell `index`, below cbank_plan_cells. */
void cbank_plan_cell(const struct cbank_plan *plan, size_t index,
                     char identity[CBANK_IDENTITY_BYTES]);
void cbank_plan_close(struct cbank_plan *plan);

/* -- results ----------------------------------------------------------------------------------- */

struct cbank_result;

/* Plans and measures by `count` options of `cbank run`, writes the result to a file and reads it.
 * CBANK_FINDING and CBANK_INCONCLUSIVE come with a result: its cells say what was found. Signals
 * end the process as they end the program. */
enum cbank_status cbank_run(size_t count, const char *const *options, const char *path,
                            struct cbank_result **out);

/* Reads a file that cbank run wrote. */
enum cbank_status cbank_read(const char *path, struct cbank_result **out);
void cbank_result_close(struct cbank_result *result);

struct cbank_cell {
    char identity[CBANK_IDENTITY_BYTES];
    const char *status; /* "ok", "skipped", "failed" or "pending" */
    const char *reason; /* why it is skipped or failed; "" else */
    bool modelled; /* the time is a prediction */
    /* of one launch, with its 95 % interval; NaN: not known */
    double time_ns, ci_low_ns, ci_high_ns;
};

size_t cbank_result_cells(const struct cbank_result *result);

/* Cell `index`, below cbank_result_cells. */
struct cbank_cell cbank_result_cell(const struct cbank_result *result, size_t index);

/* The value of a counter of cell `index`, by a name that `cbank list counters` has; NaN where it
 * was not read. */
double cbank_result_counter(const struct cbank_result *result, size_t index, const char *name);

/* -- comparison -------------------------------------------------------------------------------- */

struct cbank_comparison;

/* Compares results of one or more processes a side, as cbank compare does: is NEW worse than BASE?
 * `threshold` is the relative change of time that counts, 0.01 for 1 %. The results may be closed
 * before the comparison. */
enum cbank_status cbank_compare(size_t base_count, const struct cbank_result *const *base,
                                size_t new_count, const struct cbank_result *const *new_results,
                                double threshold, struct cbank_comparison **out);

/* The exit code that cbank compare --strict would have. */
enum cbank_status cbank_comparison_status(const struct cbank_comparison *comparison);

struct cbank_verdict {
    char identity[CBANK_IDENTITY_BYTES]; /* of the cell */
    /* "same", "improved", "regressed", "inconclusive", "missing", "new" or "invalid" */
    const char *verdict;
    /* of times, new / base, with its 95 % interval; NaN: not known */
    double ratio, ci_low, ci_high;
    double p; /* of the ratio being 1, corrected for all cells (Holm) */
};

size_t cbank_comparison_cells(const struct cbank_comparison *comparison);

/* The verdict on a cell; index 0 is the worst. */
struct cbank_verdict cbank_comparison_cell(const struct cbank_comparison *comparison, size_t index);
void cbank_comparison_close(struct cbank_comparison *comparison);

#ifdef __cplusplus
}
#endif

#endif
