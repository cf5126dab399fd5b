/* SPDX-License-Identifier: MIT
 * The only judge: it turns the times of two sides into verdicts. It knows no files and no GPU;
 * compare.h asks it about results.
 *
 * The logarithm of a ratio of times has a standard error: the deviation between processes
 * (deviation.h) over their number. Other occasions, plans or boards add a part that more processes
 * do not reduce. Intervals and p are Student's. A change is tested against the threshold, not
 * against equality. The p of all cells are corrected together (Holm 1979), and multiplied by the
 * number of interim analyses (Bonferroni). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "deviation.h"
#include "status.h"

enum { BASE, NEW, SIDES };
extern const char *const side_names[SIDES];

/* The more severe, the greater: the worst cells come first in reports. */
enum cell_verdict {
    /* the whole interval lies within the threshold; or skipped on both sides */
    VERDICT_SAME,
    VERDICT_NEW,          /* in NEW and not in BASE */
    /* faster by more than the threshold, significant after Holm, with settled times */
    VERDICT_IMPROVED,
    VERDICT_INCONCLUSIVE, /* the samples do not decide */
    /* slower, while another process used the GPU of NEW: the samples say nothing of NEW */
    VERDICT_CONTENDED,
    /* failed, skipped or pending on a side, without a time, or not comparable */
    VERDICT_INVALID,
    VERDICT_MISSING,      /* in BASE and not in NEW */
    VERDICT_REGRESSED, /* slower by more than the threshold, significant after Holm, with settled
                        * times or by very much more; or an exact counter differs */
    VERDICTS
};

/* How a verdict is counted and shown. */
struct verdict_row {
    const char *name;
    enum status status; /* STATUS_FINDING fails the gate; STATUS_INCONCLUSIVE does under --strict */
    const char *junit; /* its element in JUnit; NULL: the test passed */
};

extern const struct verdict_row verdict_rows[VERDICTS];

/* A summary of the samples of one cell in one process. */
struct process_time {
    const char *process; /* not owned: its GPU and start */
    double value; /* ns: the mean over buffer sets */
    double error; /* standard error of its logarithm; NaN: not known */
    double placed; /* standard error that other buffer sets would add; 0: one set, or not known */
    uint64_t samples; /* a hash of all samples, independent of their order */
    /* ns: the shortest sample, which another process interrupts least. A mean over buffer sets
     * would hide that all samples of one were interrupted. */
    double shortest;
    double
        slice_ns; /* a launch of a sample is longer by this where another process interrupts it */
};

/* A cell on one side. */
struct estimate {
    double ns; /* median over its processes; NaN: none */
    double within; /* root mean square of their errors; NaN: one of them is not known */
    double placed; /* root mean square of `placed`; NaN likewise */
    double shortest, slice_ns; /* the least of its processes; 0: not known */
    struct deviation own; /* between its processes */
};

/* Estimates from at least one process; predictions (`modelled`) have no error. STATUS_ENVIRONMENT
 * when out of memory. */
enum status estimate_of(const struct process_time *processes, size_t count, bool modelled,
                        struct estimate *out);

/* The ratio of times, new / base. Members are NaN if they are not known. */
struct ratio {
    double value, ci_low, ci_high;
    double p; /* two-sided, for the ratio being 1 */
};

/* One side of a cell. */
struct judged_side {
    struct estimate estimate;
    size_t processes;
    double clock_mhz; /* of the SMs; NaN: not known */
    bool modelled; /* times are predictions */
};

/* A question about a cell, and the answer. The caller sets the first half and zeroes the rest. */
struct judged_cell {
    struct judged_side sides[SIDES];
    bool cold, copies; /* caches are flushed before every launch, or the host takes part in it */
    double occasions, later; /* weights of what these add, see deviation_weight */
    bool plans_differ; /* buffers may have other addresses: the difference between plans is added */
    bool doubtful; /* a flag allows no conclusion from the time, except that it is the same, or
                    * slower by ten times the threshold */
    bool contended; /* another process used the GPU of NEW, and not in the same way that of BASE */
    /* of a GPU model, kernel or memory space without data of its own (deviation_measured) */
    bool unmeasured;
    bool of_user; /* of a user's kernel */
    bool same_data; /* both sides are the same samples of the same processes */
    struct deviation before; /* between processes, from earlier data; no degrees: the default */
    /* between processes, from other data of the same time, such as of other GPUs; no degrees: none
     */
    struct deviation seen;
    size_t boards; /* GPUs that BASE is the median of, where boards differ; 0 counts as one */
    size_t nights[SIDES]; /* of `options.nights`: on how many the processes of each side ran */
    /* The same: from the times nearest to the middle of one side to those of the other, of the
     * logarithm; 0 where they are not in the order of the medians. */
    double gap;
    /* between other GPUs of the model, or of the kind; no degrees: the default alone */
    struct deviation other_boards;
    /* what the known kinds of the model differ by, of the logarithm: boards that may be of two
     * differ by so much without a cause. NaN: not known, and not needed for boards of one kind */
    double kinds_apart;

    enum cell_verdict verdict;
    bool held; /* a flag alone keeps a change from its verdict: it is significant beyond the
                  threshold */
    /* One process a side of a user's kernel tells no change: it is beyond the threshold by the
     * widest noise that is known, which is not this kernel's. */
    bool withheld;
    double assumed; /* the share of the interval's variance that is assumed, and not measured */
    struct ratio ratio;
    double clock_ratio; /* ratio of the SM clocks, base / new; 1 if they are equal */
    bool has_deviation;
    /* between processes: from earlier data, and from those of the sides */
    struct deviation deviation;
    double side_degrees; /* of freedom, from the processes of the sides */
    double side_deviation; /* what these say alone */
    bool has_board; /* the sides are of two GPUs, and the next member is known */
    struct deviation board; /* between GPUs of the model */
    double occasion_error; /* standard error that other occasions add to the ratio's logarithm */
    struct deviation error; /* of the ratio's logarithm; no degrees: not known */
    /* two-sided, for a change no larger than the threshold, after Holm and the interim analyses */
    double adjusted_p;
    double noise; /* half the interval's width, as a share of the ratio */
    /* processes on each side that would decide an inconclusive cell, or tell its noise first; 0:
     * more than the most advised */
    uint64_t settle;
};

/* A judged cell without any data. */
extern const struct judged_cell judged_unknown;

struct judge_options {
    double threshold; /* relative change of time that counts, 0.01 for 1 % */
    unsigned other_analyses; /* interim analyses in addition to this one */
    bool base_fixed; /* BASE gets no more processes */
    bool boards_differ; /* the difference between GPUs of a model is added */
    bool same_kind; /* these are boards of one kind, known by their records */
    bool clocks_allowed; /* times are compared even if SM clocks differ */
    /* Processes are of many nights, and a night may be far off. p is that of medians (medians.h),
     * and deviations hold what occasions add. */
    bool nights;
};

enum { PROCESSES_TO_SETTLE_MOST = 50 }; /* on each side */
enum { PROCESSES_TO_TELL_NOISE = 3 }; /* on each side, where nothing was measured of it */

/* The probability with which an interval misses the truth. */
double judge_level(const struct judge_options *options);

/* Judges cells that have times on both sides, all together. STATUS_ENVIRONMENT when out of
 * memory. */
enum status judge(struct judged_cell *const *cells, size_t count,
                  const struct judge_options *options);

/* Whether nothing was measured of what processes of a cell differ by: nothing like it before, and
 * one process a side does not tell. */
bool judged_noise_unknown(const struct judged_cell *cell);

/* The slowdown of the slower side: the smaller one of times and cycles, since the SM clocks may
 * explain the rest. 0 if the two disagree about the slower side, or if there is no ratio. */
double judged_change(const struct judged_cell *cell);
