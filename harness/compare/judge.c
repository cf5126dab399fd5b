/* SPDX-License-Identifier: MIT
 * The judge. A cell's ratio r has a standard error e of ln r with d degrees of freedom:
 *
 *   interval = r x exp(+- t x e);   p: of a change beyond the threshold, two-sided, then Holm's for
 * all
 *
 * The verdict is `same` where the interval lies within the threshold, and worse or improved where
 * the corrected p is small; all else is not decided, with the number of processes that would do. */
#include "judge.h"

#include <math.h>
#include <stdlib.h>

#include "log.h"
#include "medians.h"
#include "stats.h"
#include "student.h"

static const double significance = 0.05;                         /* of the adjusted p */
/* normal quantiles: 8 of 10 cells are decided */
static const double power_same = 1.2816, power_change = 0.8416;
/* times the threshold: a cell that is slower by more fails whatever its flags */
static const double beyond_doubt = 10;
/* SM clocks of one setting read that alike; settings are 15 MHz apart */
static const double clock_same = 0.003;

const char *const side_names[SIDES] = {"base", "new"};

const struct verdict_row verdict_rows[VERDICTS] = {
    [VERDICT_SAME] = {"same", STATUS_OK, NULL},
    [VERDICT_NEW] = {"new", STATUS_OK, "skipped"},
    [VERDICT_IMPROVED] = {"improved", STATUS_OK, NULL},
    [VERDICT_INCONCLUSIVE] = {"inconclusive", STATUS_INCONCLUSIVE, "skipped"},
    [VERDICT_CONTENDED] = {"contended", STATUS_INCONCLUSIVE, "skipped"},
    [VERDICT_INVALID] = {"invalid", STATUS_FINDING, "failure"},
    [VERDICT_MISSING] = {"missing", STATUS_FINDING, "failure"},
    [VERDICT_REGRESSED] = {"regressed", STATUS_FINDING, "failure"},
};

#define NO_RATIO {NAN, NAN, NAN, NAN}
#define NO_SIDE  {.estimate = {.ns = NAN}, .clock_mhz = NAN}

const struct judged_cell judged_unknown = {
    .sides = {NO_SIDE, NO_SIDE},
    .verdict = VERDICT_INVALID,
    .ratio = NO_RATIO,
    .kinds_apart = NAN,
    .clock_ratio = 1,
    .adjusted_p = NAN,
    .noise = NAN,
    .assumed = NAN,
};

/* -- a side ------------------------------------------------------------------------------------ */

enum status estimate_of(const struct process_time *processes, size_t count, bool modelled,
                        struct estimate *out)
{
    double *values = malloc(count * sizeof(*values)), squares = 0, placed = 0;
    double shortest = INFINITY, slice_ns = INFINITY;

    if (!values)
        return log_memory("a comparison");
    for (size_t i = 0; i < count; i++) {
        values[i] = processes[i].value;
        squares += modelled ? 0 : processes[i].error * processes[i].error;
        placed += modelled ? 0 : processes[i].placed * processes[i].placed;
        shortest = fmin(shortest, processes[i].shortest);
        slice_ns = fmin(slice_ns, processes[i].slice_ns);
    }
    stats_sort(values, count);
    *out = (struct estimate){
        .ns = stats_median(values, count),
        .within = sqrt(squares / (double)count),
        .placed = sqrt(placed / (double)count),
        .shortest = shortest,
        .slice_ns = slice_ns,
        .own = modelled ? (struct deviation){0} : deviation_of(values, count),
    };
    free(values);
    return STATUS_OK;
}

/* -- ratios ------------------------------------------------------------------------------------ */

double judge_level(const struct judge_options *options)
{
    return (1 - STATS_CONFIDENCE) / (1 + options->other_analyses);
}

double judged_change(const struct judged_cell *cell)
{
    const double by_time = log(cell->ratio.value),
                 by_cycles = log(cell->ratio.value / cell->clock_ratio);

    /* NaN where there is no ratio. */
    return by_time * by_cycles > 0 ? expm1(fmin(fabs(by_time), fabs(by_cycles))) : 0;
}

bool judged_noise_unknown(const struct judged_cell *cell)
{
    return cell->unmeasured && cell->side_degrees == 0 && cell->before.degrees <= 0 &&
           !cell->same_data && !(cell->sides[BASE].modelled && cell->sides[NEW].modelled);
}

/* The deviation that other occasions add to a ratio. It is part of that of boards. */
static struct deviation occasions_of(const struct judged_cell *cell,
                                     const struct judge_options *options)
{
    const double ns = cell->sides[BASE].estimate.ns;
    const bool counts = !options->boards_differ && !options->nights &&
                        !(cell->sides[BASE].modelled && cell->sides[NEW].modelled);
    const struct deviation parts[] = {deviation_default(CAUSE_OCCASION, cell->cold, cell->copies,
                                                        ns),
                                      deviation_default(CAUSE_LATER, cell->cold, cell->copies, ns)};

    return deviation_sum(parts, (const double[]){counts * cell->occasions, counts * cell->later},
                         2);
}

/* Whether it is known what boards of these kinds differ by. */
static bool kinds_known(const struct judged_cell *cell, const struct judge_options *options)
{
    return options->same_kind || !isnan(cell->kinds_apart);
}

/* What the sides may differ by because they are of two kinds, of the logarithm. */
static double kinds_apart(const struct judged_cell *cell, const struct judge_options *options)
{
    return options->boards_differ && !options->same_kind && !isnan(cell->kinds_apart)
               ? cell->kinds_apart
               : 0;
}

/* How often the variance of one board counts in a ratio of two sides. */
static double boards_weight(const struct judged_cell *cell)
{
    return 1 + deviation_of_median(cell->boards > 0 ? cell->boards : 1);
}

/* Standard error of the ratio's logarithm with `counts` processes, whose deviation is `process`.
 * The buffers of another plan lie elsewhere: half of what the buffer sets of each side differ by is
 * added to what is known of plans. */
static struct deviation error_of(const struct judged_cell *cell,
                                 const struct judge_options *options,
                                 const struct deviation *process, const struct deviation *board,
                                 const size_t counts[SIDES])
{
    const double ns = cell->sides[BASE].estimate.ns;
    struct deviation parts[] = {*process, occasions_of(cell, options),
                                deviation_default(CAUSE_PLAN, cell->cold, cell->copies, ns),
                                *board};
    double weights[] = {0, 1, 2 * cell->plans_differ,
                        options->boards_differ ? boards_weight(cell) : 0};
    double placed = 0;

    for (size_t i = 0; i < SIDES; i++) {
        placed += cell->sides[i].estimate.placed * cell->sides[i].estimate.placed;
        weights[0] += cell->sides[i].modelled ? 0 : deviation_of_median(counts[i]);
    }
    parts[2].value = sqrt(parts[2].value * parts[2].value + placed / 2);
    if (weights[0] == 0) /* predictions do not vary */
        weights[1] = weights[2] = weights[3] = 0;
    return deviation_sum(parts, weights, 4);
}

/* Two-sided p of a distance of medians over nights. Where boards differ, too, the distance is
 * divided between both in the way that is most likely. */
static double nights_p(const struct judged_cell *cell, const struct judge_options *options,
                       double distance)
{
    static const double shares[] = {0.5, 0.6, 0.7, 0.8, 0.9}; /* of boards */
    const double z = distance / cell->deviation.value,
                 boards = cell->board.value * sqrt(boards_weight(cell));
    double p = 1;

    if (!options->boards_differ)
        return medians_p(z, cell->nights[BASE], cell->nights[NEW]);
    for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
        p = fmin(p, student_p(shares[i] * distance / boards, cell->board.degrees) +
                        medians_tail(cell->nights[NEW], (1 - shares[i]) * z));
    return p;
}

/* Two-sided p for a change, up or down, that is no larger than the threshold; NaN if it is not
 * known. Of boards that may be of two kinds little is known, which allows them any difference. A
 * change is therefore also held against a deviation that no cell of boards exceeds. */
static double change_p(const struct judged_cell *cell, const struct judge_options *options,
                       const size_t counts[SIDES])
{
    const double least = log1p(options->threshold) + kinds_apart(cell, options);
    const double excess = log1p(judged_change(cell)) - least;
    double p;

    if (isnan(cell->ratio.p))
        return NAN;
    if (excess <= 0)
        return 1;
    if (options->nights && !cell->sides[NEW].modelled)
        return cell->gap > least ? nights_p(cell, options, cell->gap - least) : 1;
    p = student_p(excess / cell->error.value, cell->error.degrees);
    if (options->boards_differ && !kinds_known(cell, options)) {
        const struct deviation furthest =
            deviation_default(CAUSE_FURTHEST, cell->cold, cell->copies,
                              cell->sides[BASE].estimate.ns);
        const struct deviation most = error_of(cell, options, &cell->deviation, &furthest, counts);

        p = fmin(p, student_p(excess / most.value, most.degrees));
    }
    return p;
}

/* Student's t of the level at some degrees of freedom. Most cells have as many as the one
 * before. */
struct quantile {
    double level, degrees, t;
};

/* The ratio, where values up to exp(apart) on either side of 1 are without a cause. */
static struct ratio ratio_of(double value, const struct deviation *error, double apart,
                             struct quantile *quantile)
{
    const double beyond = fmax(fabs(log(value)) - apart, 0);

    double half;

    if (error->degrees <= 0)
        return (struct ratio){value, NAN, NAN, NAN};
    if (quantile->degrees != error->degrees)
        *quantile = (struct quantile){quantile->level, error->degrees,
                                      student_quantile(quantile->level, error->degrees)};
    half = error->value * quantile->t + apart;
    return (struct ratio){
        .value = value,
        .ci_low = value * exp(-half),
        .ci_high = value * exp(half),
        /* Where nothing varies, equal or not is certain. */
        .p = beyond == 0 ? 1 : student_p(beyond / error->value, error->degrees),
    };
}

/* -- verdicts ---------------------------------------------------------------------------------- */

static int compare_pointed(const void *left, const void *right)
{
    const double a = **(double *const *)left, b = **(double *const *)right;

    return (a > b) - (a < b);
}

/* Holm's step-down correction, and that of interim analyses. */
static void correct(double **p, size_t family, unsigned other_analyses)
{
    double least = 0;

    qsort(p, family, sizeof(*p), compare_pointed);
    for (size_t i = 0; i < family; i++) {
        least = fmax(least, fmin(1, *p[i] * (double)(family - i)));
        *p[i] = fmin(1, least * (1 + other_analyses));
    }
}

/* The deviation of a cell with so many degrees of freedom from its sides. The widest noise is most
 * likely not this cell's: it then weighs less. */
static struct deviation of_more(const struct judged_cell *cell, double sides)
{
    struct deviation found = cell->deviation;
    const double own = cell->side_deviation * cell->side_deviation,
                 before = found.degrees - cell->side_degrees,
                 taken =
                     fmax(found.value * found.value * found.degrees - own * cell->side_degrees, 0);

    found.degrees = before + sides;
    if (found.origin == DEVIATION_WIDEST && cell->side_degrees > 0)
        found.value = sqrt((taken + own * sides) / found.degrees);
    return found;
}

/* Whether so many processes of each side that gets more would most likely decide a cell, one of
 * `family`: show that it is the same, or that it changed. */
static bool settles(const struct judged_cell *cell, const struct judge_options *options,
                    size_t family, size_t processes)
{
    const double size = judged_change(cell);
    const double threshold = expm1(log1p(options->threshold) + kinds_apart(cell, options));
    const bool changed = size > threshold;
    const double p = changed ? significance / (double)family / (1 + options->other_analyses)
                             : judge_level(options);
    struct deviation process, error;
    size_t counts[SIDES];
    /* from the threshold, and in standard errors */
    double distance = log1p(size) - log1p(threshold), reach;

    for (size_t i = 0; i < SIDES; i++)
        counts[i] = i == BASE && options->base_fixed ? cell->sides[i].processes : processes;
    process = of_more(cell, (double)(counts[BASE] - 1 + counts[NEW] - 1));
    error = error_of(cell, options, &process, &cell->board, counts);
    if (!changed) {
        const double time = fabs(log(cell->ratio.value)),
                     cycles = fabs(log(cell->ratio.value / cell->clock_ratio));

        /* Where the clocks differ, no number of processes brings times and cycles nearer to each
         * other. */
        distance = log1p(options->threshold) - kinds_apart(cell, options) -
                   (cell->clock_ratio == 1 ? 0 : fmax(time, cycles));
    }
    reach = distance / error.value - (changed ? power_change : power_same);
    return reach >= 0 && student_p(reach, error.degrees) <= p;
}

/* The deviation of a process among those of many nights, by that on one occasion. */
static struct deviation on_nights(const struct judged_cell *cell, const struct deviation *process)
{
    const double ns = cell->sides[BASE].estimate.ns;
    const struct deviation parts[] = {*process,
                                      deviation_default(CAUSE_OCCASION, cell->cold, cell->copies,
                                                        ns),
                                      deviation_default(CAUSE_LATER, cell->cold, cell->copies, ns)};

    return deviation_sum(parts, (const double[]){1, 1, 1}, 3);
}

/* Nights that differ by more than was known differ by so much. Few of them tell little: three in
 * four deviations are below this (Wilson and Hilferty 1931). */
static double at_most(const struct deviation *own)
{
    const double part = 2 / (9 * own->degrees);

    return own->degrees > 0 ? own->value / pow(1 - part - STATS_NORMAL_QUARTILE * sqrt(part), 1.5)
                            : 0;
}

/* The deviation between processes that a cell has while nobody calibrated it. */
static struct deviation usual_deviation(const struct judged_cell *cell)
{
    return deviation_default(cell->unmeasured ? CAUSE_WIDEST : CAUSE_PROCESS, cell->cold,
                             cell->copies, cell->sides[BASE].estimate.ns);
}

/* The deviation between processes that earlier runs of a cell had, or else the usual one. */
static struct deviation assumed_deviation(const struct judged_cell *cell)
{
    return cell->before.degrees > 0 ? cell->before : usual_deviation(cell);
}

/* What the sides of a cell say of the deviation between processes, and of that between boards. */
static void find_evidence(const struct judged_cell *cell, const struct judge_options *options,
                          struct deviation_evidence *processes, struct deviation_evidence *boards)
{
    const struct estimate *base = &cell->sides[BASE].estimate,
                          *new_one = &cell->sides[NEW].estimate;
    const double within = sqrt((base->within * base->within + new_one->within * new_one->within) /
                               (2 - cell->sides[BASE].modelled - cell->sides[NEW].modelled));

    boards->flush = cell->cold;
    boards->before = deviation_default(kinds_known(cell, options) ? CAUSE_KIND : CAUSE_BOARD,
                                       cell->cold, cell->copies, base->ns);
    boards->own = cell->other_boards;
    *processes = (struct deviation_evidence){.flush = cell->cold,
                                             .own = deviation_pool(&base->own, &new_one->own)};
    processes->own = deviation_pool(&processes->own, &cell->seen);
    if (isnan(within)) /* too few samples: the default says nothing of such times */
        return;
    processes->before = assumed_deviation(cell);
    /* The prior may come from more samples. */
    processes->before.value = fmax(processes->before.value, within);
    if (options->nights)
        processes->before = on_nights(cell, &processes->before);
}

/* Where clocks differ, times may have followed them or not: the interval holds both ratios, and p
 * is that of the lesser change. */
static void hold_cycles(struct judged_cell *cell, double clocks, double apart,
                        struct quantile *quantile)
{
    const struct ratio cycles = ratio_of(cell->ratio.value / clocks, &cell->error, apart, quantile);

    cell->ratio.ci_low = fmin(cell->ratio.ci_low, cycles.ci_low);
    cell->ratio.ci_high = fmax(cell->ratio.ci_high, cycles.ci_high);
    cell->ratio.p = isnan(cycles.p) || judged_change(cell) > 0 ? fmax(cell->ratio.p, cycles.p) : 1;
}

/* Sets the ratio of a cell's times, its interval and p. */
static void find_ratio(struct judged_cell *cell, const struct judge_options *options,
                       struct quantile *quantile)
{
    const struct judged_side *base = &cell->sides[BASE], *new_side = &cell->sides[NEW];
    const size_t counts[] = {base->processes, new_side->processes};
    const double clocks = base->clock_mhz / new_side->clock_mhz;
    const double apart = kinds_apart(cell, options);
    const bool clocks_differ =
        !options->clocks_allowed && (clocks > 1 + clock_same || 1 / clocks > 1 + clock_same);

    cell->error = error_of(cell, options, &cell->deviation, &cell->board, counts);
    cell->occasion_error = occasions_of(cell, options).value;
    cell->ratio =
        ratio_of(new_side->estimate.ns / base->estimate.ns, &cell->error, apart, quantile);
    cell->clock_ratio = clocks_differ ? clocks : 1;
    if (clocks_differ)
        hold_cycles(cell, clocks, apart, quantile);
    cell->noise = sqrt(cell->ratio.ci_high / cell->ratio.ci_low) - 1;
    if (options->nights && !isnan(cell->ratio.p) && !new_side->modelled)
        cell->ratio.p = cell->gap > apart ? nights_p(cell, options, cell->gap - apart) : 1;
    if (cell->same_data)
        cell->ratio = (struct ratio){1, 1, 1, 1};
    cell->adjusted_p = change_p(cell, options, counts);
    if (!isfinite(cell->ratio.value) || !(cell->ratio.value > 0)) {
        cell->ratio = (struct ratio)NO_RATIO;
        cell->adjusted_p = cell->noise = NAN;
    }
}

/* Whether the shortest samples of NEW are slower than BASE by more than the threshold, too: those
 * that another process did not interrupt. Where they are longer by as much as a time slice, all may
 * have been interrupted. `family`: cells that are judged together. */
static bool is_slower_alone(const struct judged_cell *cell, const struct judge_options *options,
                            size_t family)
{
    const struct estimate *base = &cell->sides[BASE].estimate,
                          *new_one = &cell->sides[NEW].estimate;
    const size_t counts[] = {cell->sides[BASE].processes, cell->sides[NEW].processes};
    const double by_time = log(new_one->shortest / base->ns),
                 excess = fmin(by_time, by_time - log(cell->clock_ratio)) -
                          log1p(options->threshold) - kinds_apart(cell, options);
    /* What samples of a shared GPU vary by is no part of it. */
    const struct deviation usual = assumed_deviation(cell);
    const struct deviation error = error_of(cell, options, &usual, &cell->board, counts);

    /* Samples of far fewer launches, which a neighbour makes of a plan, are of other launches. */
    return excess > 0 && new_one->slice_ns <= 2 * base->slice_ns &&
           new_one->shortest - base->ns < new_one->slice_ns &&
           student_p(excess / error.value, error.degrees) * (double)family *
                   (1 + options->other_analyses) <
               significance;
}

/* The verdict by the ratio and by the p that was corrected for all cells. `same` is said of the
 * cell alone: without a correction. */
static enum cell_verdict verdict_by_noise(const struct judged_cell *cell,
                                          const struct judge_options *options, size_t family)
{
    const struct ratio *ratio = &cell->ratio;
    const double wide = 1 + options->threshold;
    const bool severe = ratio->value > 1 && judged_change(cell) > beyond_doubt * options->threshold;

    if (isnan(ratio->value))
        return VERDICT_INVALID;
    if (cell->adjusted_p < significance && (!cell->doubtful || (severe && !cell->contended)))
        return ratio->value > 1 ? VERDICT_REGRESSED : VERDICT_IMPROVED;
    if (ratio->ci_low >= 1 / wide && ratio->ci_high <= wide)
        return VERDICT_SAME;
    if (!cell->contended || ratio->value < 1 || judged_change(cell) <= options->threshold)
        return VERDICT_INCONCLUSIVE;
    return is_slower_alone(cell, options, family) ? VERDICT_REGRESSED : VERDICT_CONTENDED;
}

/* The same. A user's kernel may have any noise: while nothing was measured of it, no change is
 * told. */
static enum cell_verdict verdict_of(struct judged_cell *cell, const struct judge_options *options,
                                    size_t family)
{
    const enum cell_verdict verdict = verdict_by_noise(cell, options, family);

    cell->withheld = cell->of_user && judged_noise_unknown(cell) &&
                     (verdict == VERDICT_REGRESSED || verdict == VERDICT_IMPROVED);
    return cell->withheld ? VERDICT_INCONCLUSIVE : verdict;
}

/* The least number of processes that most likely decides a cell, one of `family`; 0 where none up
 * to PROCESSES_TO_SETTLE_MOST does, or none is needed. More processes never do worse. */
static size_t processes_to_settle(const struct judged_cell *cell,
                                  const struct judge_options *options, size_t family)
{
    const size_t base = cell->sides[BASE].processes, new_count = cell->sides[NEW].processes;
    size_t few = options->base_fixed || new_count > base ? new_count : base;
    size_t enough = PROCESSES_TO_SETTLE_MOST;

    if (cell->verdict != VERDICT_INCONCLUSIVE || cell->error.degrees <= 0 || cell->doubtful)
        return 0;
    if (judged_noise_unknown(cell))
        return PROCESSES_TO_TELL_NOISE;
    if (few >= enough || !settles(cell, options, family, enough))
        return 0;
    while (enough - few > 1) {
        const size_t middle = (few + enough) / 2;

        *(settles(cell, options, family, middle) ? &enough : &few) = middle;
    }
    return enough;
}

/* The share of the variance of a ratio that is taken from other data than those of the sides, a
 * calibration or other boards. What samples say of a time counts as measured, where that is more
 * than what is taken. `noise`: of its processes. */
static double assumed_share(const struct judged_cell *cell, const struct deviation_evidence *noise)
{
    const double error = cell->error.value * cell->error.value,
                 process =
                     noise->concluded.value * noise->concluded.value * noise->concluded.degrees;
    const bool known = cell->before.degrees > 0 || noise->before.degrees <= 0 ||
                       noise->before.value > usual_deviation(cell).value;
    double measured = 0;

    if (!(error > 0))
        return NAN;
    for (size_t i = 0; i < SIDES; i++)
        measured += cell->sides[i].modelled ? 0 : deviation_of_median(cell->sides[i].processes);
    measured *= noise->concluded.value * noise->concluded.value;
    if (!known && process > 0)
        measured *= noise->own.degrees * noise->own.value * noise->own.value / process;
    if (cell->board.origin == DEVIATION_BOARDS && cell->has_board)
        measured += boards_weight(cell) * cell->board.value * cell->board.value;
    return fmax(0, 1 - measured / error);
}

enum status judge(struct judged_cell *const *cells, size_t count,
                  const struct judge_options *options)
{
    struct deviation_evidence *processes = calloc(count + 1, sizeof(*processes));
    struct deviation_evidence *boards = calloc(count + 1, sizeof(*boards));
    double **p = malloc((count + 1) * sizeof(*p));
    struct quantile quantile = {.level = judge_level(options)};
    enum status status = STATUS_OK;
    size_t family = 0;

    if (!p || !processes || !boards) {
        status = log_memory("a comparison");
        goto out;
    }
    for (size_t i = 0; i < count; i++)
        find_evidence(cells[i], options, &processes[i], &boards[i]);
    deviation_conclude(processes, count, false);
    deviation_conclude(boards, count, true);
    for (size_t i = 0; i < count; i++) {
        struct judged_cell *cell = cells[i];

        cell->deviation = processes[i].concluded;
        if (options->nights)
            cell->deviation.value = fmax(cell->deviation.value, at_most(&processes[i].own));
        cell->has_deviation = cell->deviation.degrees > 0;
        cell->has_board = options->boards_differ;
        cell->board = boards[i].concluded;
        cell->side_degrees = processes[i].own.degrees;
        cell->side_deviation = processes[i].own.value;
        find_ratio(cell, options, &quantile);
        cell->assumed = cell->same_data ? NAN : assumed_share(cell, &processes[i]);
        if (!isnan(cell->adjusted_p))
            p[family++] = &cell->adjusted_p;
    }
    correct(p, family, options->other_analyses);
    for (size_t i = 0; i < count; i++) {
        cells[i]->verdict = verdict_of(cells[i], options, family);
        cells[i]->held = cells[i]->doubtful && cells[i]->adjusted_p < significance &&
                         cells[i]->verdict == VERDICT_INCONCLUSIVE;
        cells[i]->settle = processes_to_settle(cells[i], options, family);
    }
out:
    free(processes);
    free(boards);
    free(p);
    return status;
}
