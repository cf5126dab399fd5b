/* SPDX-License-Identifier: MIT
 * Compares two sides, cell by cell: is NEW worse than BASE? */
#ifndef CBANK_COMPARE_H
#define CBANK_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

#include "calibration.h"
#include "code_change.h"
#include "grid.h"
#include "side.h"
#include "status.h"
#include "table.h"

enum verdict {
    VERDICT_SAME,         /* the whole interval lies inside the threshold; or skipped on both sides */
    VERDICT_IMPROVED,     /* faster by more than the threshold, significant after Holm, by times that settled */
    VERDICT_REGRESSED,    /* slower by as much, or an exact counter rose or fell */
    VERDICT_INCONCLUSIVE, /* neither: the samples do not say */
    VERDICT_MISSING,      /* in BASE and not in NEW */
    VERDICT_NEW,          /* in NEW and not in BASE */
    VERDICT_INVALID,      /* failed, skipped or pending on a side, or without time */
};

/* A verdict's word, how it is counted in exit codes, how grave it is in the order of a report, what it is to a tester
 * and how it looks. */
struct verdict_row {
    const char *name;
    const char *summary;
    enum status status; /* STATUS_FINDING fails the gate; STATUS_INCONCLUSIVE does under --strict */
    int gravity; /* worst first */
    enum outcome { OUTCOME_PASSED, OUTCOME_FAILED, OUTCOME_SKIPPED } outcome; /* in JUnit */
    enum grid_style style;
};

extern const struct verdict_row verdict_rows[]; /* by enum verdict */
extern const size_t verdict_count;

enum { BASE, NEW, SIDES };

struct compare_options {
    double threshold; /* relative change of time that counts, 0.01 for 1 % */
    double counter_threshold; /* relative change of a measured counter that is worth showing */
    const struct selection *allowed; /* facets that may differ beside those that may by default; NULL: none */
    const struct calibration *calibration; /* of cells; NULL: none */
    const char *calibration_path; /* where it is from, for the command that settles; NULL: not known */
    bool raw; /* in CSV text may begin as a formula does */
    unsigned looks; /* that are taken at growing data, of which this is one: the level is divided by them. 0: as 1 */
    bool fixed[SIDES]; /* the side gets no more processes */
    const char *again; /* the command that measures more, but for the number of processes; NULL: to be made up */
};

/* A counter that moved. */
struct counter_change {
    char name[96];
    enum counter_kind kind;
    double base, new_value;
};

/* The sides that get more processes. */
enum measured { MEASURED_BOTH, MEASURED_BASE, MEASURED_NEW };

extern const char *const measured_names[]; /* "a side", "of BASE", "of NEW" */

enum measured measured_of(const bool fixed[SIDES]);

struct comparison_cell {
    struct cell cell;
    const struct compared_gpu *gpu; /* that it is of */
    const struct side_cell *sides[SIDES]; /* what each says of it; NULL where a side has no such cell */
    size_t order; /* by GPU; of the cell in BASE, then in NEW */
    enum verdict verdict;
    bool timed; /* has a ratio */
    struct ratio ratio; /* of times, new / base; NaN members where there is none */
    double clock_ratio; /* what the SM clocks explain of it, see facet_clock_ratio; 1 where there is no ratio */
    struct estimate estimates[SIDES];
    double ns[SIDES]; /* estimates of the sides; NaN where there is none */
    bool has_deviation; /* something is known of what processes differ by */
    struct deviation deviation; /* between processes: as known before, and by the processes of the sides */
    double side_degrees; /* of those degrees of freedom, how many are of the sides */
    struct deviation error; /* of the logarithm of the ratio; no degrees where there is none */
    double adjusted_p; /* after Holm over all cells with a ratio, and times the looks; NaN where there is none */
    double noise; /* by how much the sides may differ where nothing changed, at the level; NaN not known */
    uint64_t settle; /* processes a side that would settle an inconclusive cell; 0: none would, or it is settled */
    enum measured settle_of; /* whose processes those are */
    uint64_t gate; /* likewise, at the level of a gate, of which it is no look */
    bool underpowered; /* the interval is wider than the threshold on either side of 1, or there is none */
    bool doubtful; /* a side is flagged so that nothing is concluded from its time, but that it is the same */
    bool same_data; /* both sides are the same processes with the same samples: nothing can differ */
    bool sass_differs, exact_differs; /* the code; an exact counter */
    struct code_change *code; /* owned: how it differs; NULL where it does not, or where a side does not say */
    struct counter_change *changes; /* owned: exact counters that differ, measured ones beyond the threshold */
    size_t change_count;
    char note[256]; /* why invalid; which facet differs; "" else */
};

/* A facet: what may differ between two sides, and must not where times are to be compared. */
struct facet {
    const char *name; /* for --allow-diff: engine, device, uuid, driver, vbios, clocks, ecc, mig, sass */
    const char *summary;
    bool allowed; /* may differ by default */
    size_t offset; /* of the text in struct side_identity; SIZE_MAX: a facet of cells */
    /* A facet of cells: whether it differs between two that are the same measurement. */
    bool (*cell_differs)(const struct side_cell *base, const struct side_cell *new_cell);
};

enum { FACETS = 9 };

extern const struct facet facets[FACETS];
extern const size_t facet_count; /* FACETS, for tables */

/* A facet that differs. */
struct facet_difference {
    const struct facet *facet;
    bool allowed;
    char base[DEVICE_TEXT_BYTES], new_text[DEVICE_TEXT_BYTES]; /* "3 cells" for facets of cells */
};

/* Which cells of which GPU are compared with which: those of each side have the same UUID, or there is one on each side. */
struct compared_gpu {
    size_t order; /* in BASE, then in NEW */
    const struct side *sides[SIDES]; /* not owned; one without results where a side lacks the GPU */
    struct facet_difference differences[FACETS];
    size_t difference_count;
    bool plans_differ; /* a side has cells that the other has not */
    bool comparable; /* no facet differs that may not, and a cell in common */
    enum verdict verdict; /* that of its gravest cell; missing or new where a side lacks it */
    size_t counts[VERDICT_INVALID + 1]; /* its cells by verdict */
    char note[192]; /* "" or: which board took the place of this one */
};

struct comparison {
    const struct side *sides[SIDES]; /* not owned: of all GPUs */
    struct compared_gpu *gpus; /* owned; worst first, by gravity and how many cells are as grave */
    size_t gpu_count;
    struct compare_options options;
    bool comparable; /* no facet differs that may not, and a cell in common */
    struct facet_difference differences[FACETS];
    size_t difference_count;
    struct comparison_cell
        *cells; /* owned; worst first: by gravity, then by size of the change; last those of GPUs that
                                      a side lacks */
    size_t cell_count;
    size_t counts[VERDICT_INVALID + 1]; /* cells by verdict */
    bool plans_differ; /* a side has cells that the other has not */
    bool boards_differ; /* the sides are of two GPUs */
};

/* The level of intervals: with what probability one leaves out the truth. */
double compare_level(const struct compare_options *options);

extern const struct ratio no_ratio; /* all NaN */
extern const struct deviation no_deviation; /* likewise */
extern const char *const side_names[SIDES];

enum { PROCESSES_TO_SETTLE_MOST = 50, GATE_LOOKS = 5 }; /* a side, that are advised; looks of a gate at most */

/* Adds to a cell's note. */
#define comparison_note(cell, ...) text_join((cell)->note, sizeof((cell)->note), "; ", __VA_ARGS__)

/* Sets all that follows from times, of cells whose `timed` is set: ratio, interval, p, verdict, what would settle
 * it. */
enum status comparison_judge(struct comparison *comparison);

/* By how much the slower side is slower, in times and in cycles, whichever is less: what the SM clocks may explain is no
 * change. 0 where one side is slower in times and the other in cycles, or where there is no ratio. */
double change_size(const struct comparison_cell *cell);

/* Compares. A comparison that is not comparable still has its cells, with verdict invalid where time and
 * counters mean nothing. STATUS_ENVIRONMENT when out of memory. On success the caller closes *out. */
enum status compare_sides(const struct side *base, const struct side *new_side, const struct compare_options *options,
                          struct comparison *out);

/* Likewise of several GPUs, and one comparison of all: pairs are taken as they are, `sides` are what they come from. */
enum status compare_gpus(const struct side *const sides[SIDES], const struct side *const (*pairs)[SIDES], size_t count,
                         const struct compare_options *options, struct comparison *out);

/* How many of the GPUs have a verdict. */
size_t comparison_gpus(const struct comparison *comparison, enum verdict verdict);

/* Whether a comparison says which GPU a cell is of: where there are several, or none that both sides have. */
bool comparison_is_by_gpu(const struct comparison *comparison);

/* Whether a side lacks the GPU; and how many cells there are of such GPUs, where a comparison is by GPU. */
bool gpu_is_alone(const struct compared_gpu *gpu);
size_t comparison_alone(const struct comparison *comparison);

/* What a GPU is: by the side that has it, first BASE. */
const struct side_identity *gpu_identity(const struct compared_gpu *gpu);

/* How many cells both sides have. */
size_t comparison_common(const struct comparison *comparison);

/* The exit code: STATUS_ENVIRONMENT when not comparable; else STATUS_FINDING for a regressed, missing or
 * invalid cell; else STATUS_INCONCLUSIVE for an inconclusive one; else STATUS_OK. */
enum status comparison_status(const struct comparison *comparison);

/* Sets the facets that differ of a GPU, whose cells are the last `count` of the comparison's. Of sides those whose texts are known and not the same; "mixed" is the same as
 * nothing. */
void gpu_find_differences(const struct comparison *comparison, struct compared_gpu *gpu, size_t count);

/* Whether a facet of cells differs in this one. */
bool facet_differs_in(const struct facet *facet, const struct comparison_cell *cell);

/* The ratio of times that the SM clocks of a cell that both sides have would explain, base's over new's; 1 where they are the
 * same or not known, or where the user allows that clocks differ: then what they do to times is asked for. */
double facet_clock_ratio(const struct comparison_cell *cell, const struct selection *allowed);

/* Whether the code of a cell is known on both sides and not the same. */
bool facet_code_differs(const struct side_cell *base, const struct side_cell *new_cell);

/* Releases; accepts a zeroed struct. */
void comparison_close(struct comparison *comparison);

#endif
