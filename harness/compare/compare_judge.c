/* SPDX-License-Identifier: MIT
 * From the times of two sides to verdicts.
 *
 * The logarithm of a ratio of times has a standard error: the deviation between processes over how many there are, and
 * what differing plans or boards add, which no number of processes takes away. Processes of one plan have the same places for
 * buffers and tables, whatever the board; those of another plan have others. The deviation is what was known before
 * (deviation.h) and what the processes of the sides show, by degrees of freedom. Intervals and p are Student's. Where the SM clocks
 * differ, which a GPU moves by itself, times may have followed them or not: what holds either way is said. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "log.h"
#include "stats.h"
#include "student.h"
#include "text.h"

static const double significance = 0.05; /* of the adjusted p */
static const double power_same = 1.2816, power_change = 0.8416; /* normal quantiles: a cell is settled 8 times of 10 */

const char *const measured_names[] = {
    [MEASURED_BOTH] = "a side",
    [MEASURED_BASE] = "of BASE",
    [MEASURED_NEW] = "of NEW",
};

enum measured measured_of(const bool fixed[SIDES])
{
    return fixed[BASE] ? MEASURED_NEW : fixed[NEW] ? MEASURED_BASE : MEASURED_BOTH;
}

static double looks_of(const struct compare_options *options)
{
    return options->looks > 1 ? options->looks : 1;
}

double compare_level(const struct compare_options *options)
{
    return (1 - STATS_CONFIDENCE) / looks_of(options);
}

double change_size(const struct comparison_cell *cell)
{
    const double by_time = log(cell->ratio.value), by_cycles = log(cell->ratio.value / cell->clock_ratio);

    /* NaN where there is no ratio. */
    return by_time * by_cycles > 0 ? expm1(fmin(fabs(by_time), fabs(by_cycles))) : 0;
}

/* -- the same data ------------------------------------------------------------------------------------ */

/* Whether both sides are of the same processes with the same samples, in whatever order. */
static bool same_data(const struct side_cell *base, const struct side_cell *new_cell)
{
    bool same = base->process_count == new_cell->process_count;

    for (size_t i = 0; same && i < base->process_count; i++) {
        const struct process_time *process = &base->processes[i];

        same = process->process && side_count_process(base, process) == side_count_process(new_cell, process);
    }
    return same;
}

/* -- deviations --------------------------------------------------------------------------------------- */

/* What is known of a cell: by a calibration that applies to a side, else by the default; and by its processes. */
static struct deviation_evidence evidence_of(const struct comparison *comparison, struct comparison_cell *cell)
{
    const struct calibration *calibration = comparison->options.calibration;
    const double within = sqrt((pow(cell->estimates[BASE].within, 2) + pow(cell->estimates[NEW].within, 2)) /
                               (2 - cell->sides[BASE]->modelled - cell->sides[NEW]->modelled));
    struct deviation_evidence out = {
        .flush = cell->cell.regime->flush,
        .own = deviation_pool(&cell->estimates[BASE].own, &cell->estimates[NEW].own),
    };
    const char *why[SIDES] = {0};

    if (isnan(within)) /* so few samples that the default says nothing of their times */
        return out;
    out.before = deviation_default(CAUSE_process, &cell->cell, cell->ns[BASE]);
    for (size_t i = 0; calibration && i < SIDES && (i == BASE || why[BASE]); i++)
        why[i] = calibration_deviation(calibration, &cell->cell, &cell->gpu->sides[i]->identity, cell->sides[i]->sha256,
                                       &out.before);
    if (why[BASE] && why[NEW])
        comparison_note(cell, "not calibrated: %s", why[BASE]);
    out.before = deviation_at_least(out.before, within);
    return out;
}

/* What each side has several of, and cells of older files had one of. */
static const struct {
    size_t at; /* a uint32_t of struct side_cell; 0: not known */
    const char *before, *behind; /* the numbers of both sides */
} multiples[] = {
    {offsetof(struct side_cell, sites), "the table had", "sites a place"},
    {offsetof(struct side_cell, code_copies), "the code was loaded", "times"},
};

enum { MULTIPLES = sizeof(multiples) / sizeof(multiples[0]) };

static uint32_t multiple_of(const struct comparison_cell *cell, size_t side, size_t row)
{
    const uint32_t count = *(const uint32_t *)((const char *)cell->sides[side] + multiples[row].at);

    return count ? count : 1;
}

/* Whether the sides differ in that; in any of it. */
static bool multiple_differs(const struct comparison_cell *cell, size_t row)
{
    return multiple_of(cell, BASE, row) != multiple_of(cell, NEW, row);
}

static bool places_differ(const struct comparison_cell *cell)
{
    bool differ = false;

    for (size_t i = 0; i < MULTIPLES; i++)
        differ = differ || multiple_differs(cell, i);
    return differ;
}

/* What the sides differ by since their plans do, or what each place has, each by a half: what is known of all cells, and the
 * places of this one. */
static struct deviation plan_deviation(const struct comparison_cell *cell)
{
    struct deviation out = deviation_default(CAUSE_plan, &cell->cell, cell->ns[BASE]);
    const double placed[] = {cell->estimates[BASE].placed, cell->estimates[NEW].placed};

    out.value = sqrt(out.value * out.value + (placed[BASE] * placed[BASE] + placed[NEW] * placed[NEW]) / 2);
    return out;
}

/* Standard error of the ratio's logarithm with as many processes. */
static struct deviation error_of(const struct comparison *comparison, const struct comparison_cell *cell,
                                 const struct deviation *process, const size_t counts[SIDES])
{
    const struct deviation parts[] = {*process, plan_deviation(cell),
                                      deviation_default(CAUSE_board, &cell->cell, cell->ns[BASE])};
    double weights[] = {0, 2 * (cell->gpu->plans_differ || places_differ(cell)), 2 * comparison->boards_differ};

    for (size_t i = 0; i < SIDES; i++)
        weights[0] += cell->sides[i]->modelled ? 0 : deviation_of_median(counts[i]);
    if (weights[0] == 0) /* predictions do not vary */
        weights[1] = weights[2] = 0;
    return deviation_sum(parts, weights, 3);
}

/* Where the clocks differ, times may have followed them, or not at all: the interval holds both, p is that of the less. */
static void allow_for_clocks(struct comparison_cell *cell, struct ratio_level *level)
{
    struct ratio by_cycles;

    if (cell->clock_ratio == 1)
        return;
    by_cycles = ratio_of(cell->ratio.value / cell->clock_ratio, &cell->error, level);
    cell->ratio.ci_low = fmin(cell->ratio.ci_low, by_cycles.ci_low);
    cell->ratio.ci_high = fmax(cell->ratio.ci_high, by_cycles.ci_high);
    cell->ratio.p = isnan(by_cycles.p) || change_size(cell) > 0 ? fmax(cell->ratio.p, by_cycles.p) : 1;
}

/* Sets interval and p of a cell by what is known of it. */
static void find_ratio(const struct comparison *comparison, struct ratio_level *level, struct comparison_cell *cell)
{
    const size_t counts[] = {cell->sides[BASE]->process_count, cell->sides[NEW]->process_count};

    for (size_t i = 0; i < MULTIPLES; i++)
        if (multiple_differs(cell, i))
            comparison_note(cell, "%s %" PRIu32 " and %" PRIu32 " %s", multiples[i].before, multiple_of(cell, BASE, i),
                            multiple_of(cell, NEW, i), multiples[i].behind);
    cell->error = error_of(comparison, cell, &cell->deviation, counts);
    cell->ratio = ratio_of(cell->ns[NEW] / cell->ns[BASE], &cell->error, level);
    cell->clock_ratio = facet_clock_ratio(cell, comparison->options.allowed);
    allow_for_clocks(cell, level);
    cell->noise = sqrt(cell->ratio.ci_high / cell->ratio.ci_low) - 1;
    /* Sides of the same data are one sample: whatever it is, its ratio is 1. */
    cell->same_data = same_data(cell->sides[BASE], cell->sides[NEW]);
    if (cell->same_data)
        cell->ratio = (struct ratio){.value = 1, .ci_low = 1, .ci_high = 1, .p = 1};
    cell->adjusted_p = cell->ratio.p;
    if (isfinite(cell->ratio.value) && cell->ratio.value > 0)
        return;
    comparison_note(cell, "the times are too far apart for a ratio");
    cell->ratio = no_ratio;
    cell->adjusted_p = cell->noise = NAN;
    cell->verdict = VERDICT_INVALID;
    cell->timed = false;
}

/* Deviations of all cells, and then ratios: what the processes show of all cells of a regime is known first. */
static enum status find_ratios(struct comparison *comparison)
{
    struct deviation_evidence *cells = calloc(comparison->cell_count + 1, sizeof(*cells));
    struct ratio_level level = {.p = compare_level(&comparison->options)};
    struct deviation_scale scales[2];

    if (!cells)
        return log_memory("a comparison");
    for (size_t i = 0; i < comparison->cell_count; i++)
        if (comparison->cells[i].timed)
            cells[i] = evidence_of(comparison, &comparison->cells[i]);
    deviation_find_scales(cells, comparison->cell_count, scales);
    for (size_t i = 0; i < comparison->cell_count; i++) {
        struct comparison_cell *cell = &comparison->cells[i];

        if (!cell->timed)
            continue;
        cell->deviation = deviation_conclude(scales, &cells[i]);
        cell->has_deviation = cell->deviation.degrees > 0;
        cell->side_degrees = cells[i].own.degrees;
        find_ratio(comparison, &level, cell);
        if (!cell->has_deviation)
            cell->deviation = no_deviation;
    }
    free(cells);
    return STATUS_OK;
}

static enum status find_estimates(struct comparison *comparison)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; status == STATUS_OK && i < comparison->cell_count * SIDES; i++) {
        struct comparison_cell *cell = &comparison->cells[i / SIDES];
        const struct side_cell *of = cell->sides[i % SIDES];

        /* A cell that is not compared has times for the eye. */
        if (!of || of->process_count == 0)
            continue;
        status = side_estimate(&(struct sample_side){of->processes, of->process_count, of->modelled},
                               &cell->estimates[i % SIDES]);
        cell->ns[i % SIDES] = cell->estimates[i % SIDES].ns;
    }
    return status;
}

/* -- verdicts ----------------------------------------------------------------------------------------- */

/* Holm's correction over all cells with a p, and Bonferroni's over the looks. *family: how many cells. */
static enum status adjust(const struct comparison *comparison, size_t *family)
{
    double **p = malloc((comparison->cell_count + 1) * sizeof(*p));

    *family = 0;
    if (!p)
        return log_memory("a comparison");
    for (size_t i = 0; i < comparison->cell_count; i++)
        if (!isnan(comparison->cells[i].adjusted_p))
            p[(*family)++] = &comparison->cells[i].adjusted_p;
    holm_adjust(p, *family);
    for (size_t i = 0; i < *family; i++)
        *p[i] = fmin(1, *p[i] * looks_of(&comparison->options));
    free(p);
    return STATUS_OK;
}

/* A question of how many processes settle a cell. */
struct settling {
    const struct compare_options *options;
    const struct comparison *comparison;
    size_t family; /* cells that are judged together */
};

/* How far the logarithm of a ratio lies from none that is to be shown to be the same: where the clocks differ, as far as the
 * farther of times and cycles, which no number of processes brings nearer. */
static double distance_to_same(const struct comparison_cell *cell)
{
    if (cell->clock_ratio == 1)
        return 0;
    return fmax(fabs(log(cell->ratio.value)), fabs(log(cell->ratio.value / cell->clock_ratio)));
}

/* Whether as many processes, of a side that gets more, would most likely settle a cell: whether it is the same where it
 * seems to be, whether it changed where it seems to have. */
static bool settles(const struct settling *settling, const struct comparison_cell *cell, size_t processes)
{
    const double size = change_size(cell), threshold = settling->options->threshold;
    const double p = size > threshold ? significance / (double)settling->family / looks_of(settling->options)
                                      : compare_level(settling->options);
    const double power = size > threshold ? power_change : power_same;
    struct deviation process = cell->deviation, error;
    size_t counts[SIDES];
    double reach; /* errors from no change to where that many are too many */

    process.degrees -= cell->side_degrees;
    for (size_t i = 0; i < SIDES; i++) {
        counts[i] = settling->options->fixed[i] ? cell->sides[i]->process_count : processes;
        process.degrees += (double)(counts[i] - 1);
    }
    error = error_of(settling->comparison, cell, &process, counts);
    reach = (size > threshold ? log1p(size) : log1p(threshold) - distance_to_same(cell)) / error.value - power;
    return reach >= 0 && student_p(reach, error.degrees) <= p;
}

/* How many processes would settle it, more than there are; 0 where no number that is advised would. More never do worse. */
static size_t processes_to_settle(const struct settling *settling, const struct comparison_cell *cell)
{
    const size_t base = cell->sides[BASE]->process_count, new_count = cell->sides[NEW]->process_count;
    const bool *fixed = settling->options->fixed;
    size_t few = fixed[BASE] || (!fixed[NEW] && new_count > base) ? new_count : base;
    size_t enough = PROCESSES_TO_SETTLE_MOST;

    if (few >= enough || !settles(settling, cell, enough))
        return 0;
    while (enough - few > 1) {
        const size_t middle = (few + enough) / 2;

        if (settles(settling, cell, middle))
            enough = middle;
        else
            few = middle;
    }
    return enough;
}

/* A change has to survive the correction for all cells that were looked at, and needs times that settled. That a cell is
 * the same is said of it alone, by its own interval. */
static enum verdict time_verdict(const struct comparison_cell *cell, double threshold)
{
    const struct ratio *ratio = &cell->ratio;

    if (change_size(cell) > threshold && cell->adjusted_p < significance && !cell->doubtful)
        return ratio->value > 1 ? VERDICT_REGRESSED : VERDICT_IMPROVED;
    if (ratio->ci_low >= 1 / (1 + threshold) && ratio->ci_high <= 1 + threshold)
        return VERDICT_SAME;
    return VERDICT_INCONCLUSIVE;
}

/* Decides on a cell with a ratio, one of a family. */
static void decide(const struct comparison *comparison, struct comparison_cell *cell, size_t family)
{
    const double threshold = comparison->options.threshold;

    cell->underpowered = !(cell->ratio.ci_high / cell->ratio.ci_low <= (1 + threshold) * (1 + threshold));
    cell->doubtful = (cell->sides[BASE]->flags | cell->sides[NEW]->flags) & FLAGS_DOUBTFUL;
    cell->verdict = time_verdict(cell, threshold);
    if (cell->verdict == VERDICT_INCONCLUSIVE && cell->error.degrees > 0 && !cell->doubtful) {
        struct compare_options as_gate = comparison->options;

        cell->settle_of = measured_of(comparison->options.fixed);
        as_gate.looks = GATE_LOOKS;
        cell->settle = processes_to_settle(&(struct settling){&comparison->options, comparison, family}, cell);
        cell->gate = as_gate.looks == comparison->options.looks
                         ? cell->settle
                         : processes_to_settle(&(struct settling){&as_gate, comparison, family}, cell);
    }
    if (cell->exact_differs && !cell->sass_differs)
        cell->verdict = VERDICT_REGRESSED;
    /* Flags make a time doubtful. */
    for (size_t i = 0; i < SIDES; i++)
        for (size_t bit = 0; bit < CELL_FLAG_COUNT; bit++)
            if (cell->sides[i]->flags >> bit & 1)
                comparison_note(cell, "%s is %s", side_names[i], cell_flag_names[bit]);
}

static bool is_known(const char *text)
{
    return *text != '\0';
}

enum status comparison_judge(struct comparison *comparison)
{
    const char *base = comparison->sides[BASE]->identity.device.uuid,
               *new_uuid = comparison->sides[NEW]->identity.device.uuid;
    enum status status = find_estimates(comparison);
    size_t family;

    comparison->boards_differ =
        comparison->gpu_count == 1 && is_known(base) && is_known(new_uuid) && strcmp(base, new_uuid) != 0;
    if (status == STATUS_OK)
        status = find_ratios(comparison);
    if (status == STATUS_OK)
        status = adjust(comparison, &family);
    for (size_t i = 0; status == STATUS_OK && i < comparison->cell_count; i++)
        if (comparison->cells[i].timed)
            decide(comparison, &comparison->cells[i], family);
    return status;
}
