/* SPDX-License-Identifier: MIT */
#include "compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "parallel.h"
#include "random.h"
#include "side_counter.h"
#include "text.h"

static const double significance = 0.05;   /* of the adjusted p */

const struct verdict_row verdict_rows[] = {
    [VERDICT_SAME] = {"same", "the whole interval lies inside the threshold", STATUS_OK, 0},
    [VERDICT_IMPROVED] = {"improved", "faster by more than the threshold and the cell's noise", STATUS_OK, 2},
    [VERDICT_REGRESSED] = {"regressed",
                           "slower by more than the threshold and the cell's noise, or an exact counter "
                           "differs",
                           STATUS_FINDING, 6},
    [VERDICT_INCONCLUSIVE] = {"inconclusive", "the samples do not say", STATUS_INCONCLUSIVE, 3},
    [VERDICT_MISSING] = {"missing", "in BASE and not in NEW", STATUS_FINDING, 5},
    [VERDICT_NEW] = {"new", "in NEW and not in BASE", STATUS_OK, 1},
    [VERDICT_INVALID] = {"invalid", "failed, skipped or pending on a side, without time, or not comparable",
                         STATUS_FINDING, 4},
};

const size_t verdict_count = sizeof(verdict_rows) / sizeof(verdict_rows[0]);

/* -- matching ----------------------------------------------------------------------------------------- */

/* A cell and what the two sides say of it. */
struct match {
    const struct side_cell *base, *new_cell; /* NULL where the side has no such cell */
    struct comparison_cell out;
    bool exact_differs;
    double p;           /* of the ratio, no smaller than the samples can give */
    double p_floor;     /* the smallest that they can */
    size_t order;       /* of the cell in BASE, then in NEW */
    enum status status; /* of the resampling */
};

struct work {
    const struct side *base, *new_side;
    const struct compare_options *options;
    struct match *matches; /* owned; their counter changes too until they are moved to the comparison */
    size_t count;
    size_t common;         /* matches with both sides */
    size_t family;         /* matches with a ratio */
    size_t resamples_most; /* of a ratio: so many that its p can be significant in the family */
};

static enum status out_of_memory(void)
{
    return log_error(STATUS_ENVIRONMENT, "out of memory; compare fewer cells or processes at a time");
}

static void add_match(struct work *work, const struct side_cell *base, const struct side_cell *new_cell)
{
    work->common += base && new_cell;
    work->matches[work->count++] = (struct match){
        .base = base,
        .new_cell = new_cell,
        .out = {.cell = base ? base->cell : new_cell->cell,
                .verdict = base ? VERDICT_MISSING : VERDICT_NEW,
                .ratio = {.value = NAN, .ci_low = NAN, .ci_high = NAN, .p = NAN},
                .base_ns = NAN,
                .new_ns = NAN,
                .adjusted_p = NAN,
                .noise = NAN},
        .order = base ? (size_t)(base - work->base->cells)
                      : work->base->cell_count + (size_t)(new_cell - work->new_side->cells),
    };
}

/* Walks the sorted cells of both sides together. */
static void match_sorted(struct work *work, struct side_cell *const *base, struct side_cell *const *new_cells)
{
    size_t i = 0, k = 0;

    while (i < work->base->cell_count || k < work->new_side->cell_count) {
        const int order = i == work->base->cell_count       ? 1
                          : k == work->new_side->cell_count ? -1
                                                            : cell_order(&base[i]->cell, &new_cells[k]->cell);

        add_match(work, order <= 0 ? base[i] : NULL, order >= 0 ? new_cells[k] : NULL);
        i += order <= 0;
        k += order >= 0;
    }
}

static enum status match_cells(struct work *work)
{
    struct side_cell **base = side_sorted(work->base), **new_cells = side_sorted(work->new_side);
    enum status status = STATUS_OK;

    work->matches = calloc(work->base->cell_count + work->new_side->cell_count + 1, sizeof(*work->matches));
    if (base && new_cells && work->matches)
        match_sorted(work, base, new_cells);
    else
        status = out_of_memory();
    free(new_cells);
    free(base);
    return status;
}

/* -- facets that differ ------------------------------------------------------------------------------- */

/* Whether a facet of cells differs in a match. */
static bool cell_differs(const struct facet *facet, const struct match *match)
{
    return match->base && match->new_cell && facet->cell_differs(match->base, match->new_cell);
}

/* Whether a facet of cells differs in any; *out says in how many. */
static bool cells_differ(const struct work *work, const struct facet *facet, struct facet_difference *out)
{
    size_t count = 0;

    for (size_t i = 0; i < work->count; i++)
        count += cell_differs(facet, &work->matches[i]);
    snprintf(out->base, sizeof(out->base), "%zu cell%s", count, count == 1 ? "" : "s");
    memcpy(out->new_text, out->base, sizeof(out->base));
    return count > 0;
}

static enum status check_facets(const struct work *work, struct comparison *out)
{
    out->differences = calloc(facet_count, sizeof(*out->differences));
    if (!out->differences)
        return out_of_memory();
    out->comparable = work->common > 0;
    for (const struct facet *facet = facets; facet < facets + facet_count; facet++) {
        struct facet_difference *difference = &out->differences[out->difference_count];

        *difference =
            (struct facet_difference){.facet = facet, .allowed = facet_is_allowed(facet, work->options->allowed)};
        if (facet->cell_differs ? !cells_differ(work, facet, difference)
                                : !facet_differs(facet, work->base, work->new_side, difference))
            continue;
        out->difference_count++;
        out->comparable = out->comparable && difference->allowed;
    }
    return STATUS_OK;
}

/* Adds to the cell's note. */
#define note(cell, ...) text_join((cell)->note, sizeof((cell)->note), "; ", __VA_ARGS__)

/* The flags of a side's cell, which make its time doubtful. */
static void note_flags(struct comparison_cell *out, const char *side, const struct side_cell *cell)
{
    for (size_t bit = 0; bit < CELL_FLAG_COUNT; bit++)
        if (cell->flags >> bit & 1)
            note(out, "%s is %s", side, cell_flag_names[bit]);
}

/* -- validity ----------------------------------------------------------------------------------------- */

static bool times_are_positive(const struct side_cell *cell)
{
    for (size_t i = 0; i < cell->process_count; i++)
        for (size_t k = 0; k < cell->processes[i].count; k++)
            if (!(cell->processes[i].samples[k] > 0))
                return false;
    return true;
}

/* Whether a side's cell can be compared; says why not. */
static bool side_is_valid(struct comparison_cell *out, const char *side, const struct side_cell *cell)
{
    if (cell->status != CELL_OK)
        note(out, "%s is %s%s%.180s", side, cell_status_names[cell->status], cell->reason[0] ? ": " : "", cell->reason);
    else if (cell->process_count == 0)
        note(out, "%s has no time", side);
    else if (!times_are_positive(cell))
        note(out, "%s has a time that is not above 0", side);
    else
        return true;
    return false;
}

/* Whether nothing that may not differ does; says what otherwise. */
static bool is_comparable(const struct comparison *comparison, const struct match *match, struct comparison_cell *out)
{
    bool good = true;

    for (size_t i = 0; i < comparison->difference_count; i++) {
        const struct facet_difference *difference = &comparison->differences[i];

        if (difference->allowed || (difference->facet->cell_differs && !cell_differs(difference->facet, match)))
            continue;
        note(out, "not comparable: %s differs", difference->facet->name);
        good = false;
    }
    return good;
}

/* Sets what is known of a match before any statistics: whether it is to be timed above all. */
static void classify(const struct comparison *comparison, struct match *match)
{
    struct comparison_cell *out = &match->out;
    bool base_valid, new_valid;

    if (!match->base || !match->new_cell)
        return;
    if (match->base->status == CELL_SKIPPED && match->new_cell->status == CELL_SKIPPED) {
        out->verdict = VERDICT_SAME;
        note(out, "skipped on both sides");
        return;
    }
    out->sass_differs = facet_code_differs(match->base, match->new_cell);
    base_valid = side_is_valid(out, "base", match->base);
    new_valid = side_is_valid(out, "new", match->new_cell);
    out->timed = is_comparable(comparison, match, out) && base_valid && new_valid;
    out->verdict = out->timed ? VERDICT_INCONCLUSIVE : VERDICT_INVALID;
}

/* -- counters ----------------------------------------------------------------------------------------- */

static void compare_counter(const struct compare_options *options, struct match *match, size_t index)
{
    const struct side_counter *base = &match->base->counters[index];
    const struct side_counter *new_counter = side_counter_find(match->new_cell, base->name, index);
    struct comparison_cell *out = &match->out;
    struct counter_change *change;
    double value;

    if (base->read == 0 || !new_counter || !side_counter_changed(base, new_counter, options->counter_threshold, &value))
        return;
    change = &out->changes[out->change_count++];
    *change = (struct counter_change){.kind = base->kind, .base = base->value, .new_value = value};
    memcpy(change->name, base->name, sizeof(change->name));
    match->exact_differs = match->exact_differs || (base->kind == COUNTER_EXACT && new_counter->kind == COUNTER_EXACT);
}

static enum status compare_counters(const struct compare_options *options, struct match *match)
{
    match->out.changes = calloc(match->base->counter_count + 1, sizeof(*match->out.changes));
    if (!match->out.changes)
        return out_of_memory();
    for (size_t i = 0; i < match->base->counter_count; i++)
        compare_counter(options, match, i);
    if (match->exact_differs && match->out.sass_differs)
        note(&match->out, "the code differs: exact counters that differ are no regression by themselves");
    return STATUS_OK;
}

/* -- time --------------------------------------------------------------------------------------------- */

/* Every cell has a sequence of its own, from its identity alone: whatever else is compared, and on whatever
 * thread. FNV-1a. */
static uint64_t cell_seed(uint64_t seed, const struct cell *cell)
{
    char identity[CELL_IDENTITY_BYTES];
    uint64_t hash = 0xcbf29ce484222325u;

    cell_identity(cell, identity);
    for (const char *c = identity; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 0x100000001b3u;
    return random_next(&seed) ^ hash;
}

static size_t sample_total(const struct side_cell *cell)
{
    size_t total = 0;

    for (size_t i = 0; i < cell->process_count; i++)
        total += cell->processes[i].count;
    return total;
}

/* The smallest p that the samples can give, whatever their times: of a permutation test of all against all, or of a
 * sign test against a prediction; and of the resampling. The bootstrap does not know it: one sample a side has no
 * spread, and would be certain. */
static double least_p(const struct work *work, const struct match *match)
{
    const size_t base = sample_total(match->base), new_total = sample_total(match->new_cell);
    const bool base_modelled = match->base->modelled, new_modelled = match->new_cell->modelled;
    const size_t fewer = base < new_total ? base : new_total;
    double arrangements = 1;

    if (base_modelled && new_modelled)
        return 0;
    if (base_modelled || new_modelled)
        arrangements = ldexp(1, base_modelled ? (int)fmin((double)new_total, 60) : (int)fmin((double)base, 60));
    else
        for (size_t i = 1; i <= fewer && arrangements < 1e9; i++)
            arrangements *= (double)(base + new_total - fewer + i) / (double)i;
    return fmin(1, fmax(2 / arrangements, 1 / ((double)work->resamples_most + 1)));
}

/* How often the cell has this very process: the same run of the program, with the same samples. */
static size_t count_process(const struct side_cell *cell, const struct process_samples *process)
{
    size_t count = 0;

    for (size_t i = 0; i < cell->process_count; i++) {
        const struct process_samples *other = &cell->processes[i];

        count += other->count == process->count && other->process &&
                 memcmp(other->samples, process->samples, process->count * sizeof(*process->samples)) == 0 &&
                 strcmp(other->process, process->process) == 0;
    }
    return count;
}

/* Whether both sides are of the same processes with the same samples, in whatever order. */
static bool same_data(const struct side_cell *base, const struct side_cell *new_cell)
{
    bool same = base->process_count == new_cell->process_count;

    for (size_t i = 0; same && i < base->process_count; i++) {
        const struct process_samples *process = &base->processes[i];

        same = process->process && count_process(base, process) == count_process(new_cell, process);
    }
    return same;
}

/* The ratio of two sides that were measured apart, and of which each is resampled by itself. */
static enum status independent_ratio(const struct work *work, struct match *match)
{
    const struct sample_side base = {match->base->processes, match->base->process_count};
    const struct sample_side new_side = {match->new_cell->processes, match->new_cell->process_count};
    struct comparison_cell *out = &match->out;
    enum status status = ratio_bootstrap(&base, &new_side, cell_seed(work->options->seed, &out->cell),
                                         work->resamples_most, &out->ratio);

    /* Predictions do not vary: equal or not is certain. */
    if (status == STATUS_OK && match->base->modelled && match->new_cell->modelled)
        out->ratio.p = out->ratio.value == 1 ? 1 : 0;
    match->p_floor = least_p(work, match);
    return status;
}

/* Sides of the same data are one sample: a resample of it is one of both sides, and its ratio is 1, however wide the
 * samples spread. */
static enum status time_match(const struct work *work, struct match *match)
{
    struct comparison_cell *out = &match->out;
    enum status status = STATUS_OK;

    out->same_data = same_data(match->base, match->new_cell);
    if (out->same_data)
        out->ratio = (struct ratio){.value = 1, .ci_low = 1, .ci_high = 1, .p = 1};
    else
        status = independent_ratio(work, match);
    if (status != STATUS_OK)
        return status;
    match->p = fmax(out->ratio.p, match->p_floor);
    if (isfinite(out->ratio.value + out->ratio.ci_high) && fmin(out->ratio.value, out->ratio.ci_low) > 0)
        return STATUS_OK;
    note(out, "the times are too far apart for a ratio");
    out->ratio = (struct ratio){.value = NAN, .ci_low = NAN, .ci_high = NAN, .p = NAN};
    out->verdict = VERDICT_INVALID;
    out->timed = false;
    return STATUS_OK;
}

/* The times of a cell, compared or not: a missing one has them for the eye. */
static enum status side_times(struct match *match)
{
    const struct side_cell *const cells[] = {match->base, match->new_cell};
    double *const times[] = {&match->out.base_ns, &match->out.new_ns};
    enum status status = STATUS_OK;

    for (size_t i = 0; status == STATUS_OK && i < 2; i++)
        if (cells[i] && cells[i]->process_count > 0)
            status = side_median(&(struct sample_side){cells[i]->processes, cells[i]->process_count}, times[i]);
    return status;
}

static void time_range(void *context, uint64_t first, uint64_t count)
{
    const struct work *work = context;

    for (size_t i = first; i < first + count; i++) {
        struct match *match = &work->matches[i];

        match->status = side_times(match);
        if (match->out.timed && match->status == STATUS_OK)
            match->status = compare_counters(work->options, match);
        if (match->out.timed && match->status == STATUS_OK)
            match->status = time_match(work, match);
    }
}

/* Resamples for a family of this many ratios. In a large one even a p that is as small as RATIO_RESAMPLES can tell would
 * not survive Holm's correction, whatever the samples say. */
static size_t resamples_for(size_t family)
{
    return (double)family < RATIO_RESAMPLES * significance ? RATIO_RESAMPLES
                                                           : (size_t)(2 * (double)family / significance);
}

static enum status time_all(struct work *work)
{
    enum status status = STATUS_OK;
    size_t family = 0;

    for (size_t i = 0; i < work->count; i++)
        family += work->matches[i].out.timed;
    work->resamples_most = resamples_for(family);
    parallel_ranges(work->count, 1, time_range, work);
    for (size_t i = 0; i < work->count; i++)
        status = status_worse(status, work->matches[i].status);
    return status;
}

/* Holm's correction over all cells with a ratio. */
static enum status adjust(struct work *work)
{
    double *p = malloc((work->count + 1) * sizeof(*p)), *adjusted = malloc((work->count + 1) * sizeof(*p));
    enum status status = p && adjusted ? STATUS_OK : out_of_memory();

    for (size_t i = 0; status == STATUS_OK && i < work->count; i++)
        if (work->matches[i].out.timed)
            p[work->family++] = work->matches[i].p;
    if (status == STATUS_OK)
        status = holm_adjust(p, work->family, adjusted);
    for (size_t i = 0, k = 0; status == STATUS_OK && i < work->count; i++)
        if (work->matches[i].out.timed)
            work->matches[i].out.adjusted_p = adjusted[k++];
    free(adjusted);
    free(p);
    return status;
}

/* -- verdicts ----------------------------------------------------------------------------------------- */

/* Takes the noise of the cell from the calibration, the greater of the two sides where it applies to both. */
static void apply_calibration(const struct work *work, struct match *match)
{
    const struct calibration *calibration = work->options->calibration;
    struct comparison_cell *out = &match->out;
    const char *why_base = NULL, *why_new = NULL;
    double base = 0, new_noise = 0;
    bool base_known, new_known;

    if (!calibration)
        return;
    base_known =
        calibration_noise(calibration, &out->cell, &work->base->identity, match->base->sha256, &base, &why_base);
    new_known = calibration_noise(calibration, &out->cell, &work->new_side->identity, match->new_cell->sha256,
                                  &new_noise, &why_new);
    if (base_known || new_known)
        out->noise = fmax(base, new_noise);
    else
        note(out, "no calibrated noise: %s", why_base);
}

/* By how much the slower side is slower. */
static double change_size(const struct ratio *ratio)
{
    return isnan(ratio->value) ? 0 : fmax(ratio->value, 1 / ratio->value) - 1;
}

/* A change has to survive the correction for all cells that were looked at. That a cell is the same is said of it alone,
 * by its own interval, which needs samples enough for its confidence and no more. */
static enum verdict time_verdict(const struct match *match, double threshold)
{
    const struct comparison_cell *cell = &match->out;
    const struct ratio *ratio = &cell->ratio;
    const bool counts = change_size(ratio) > fmax(threshold, cell->noise) && cell->adjusted_p < significance;

    if (counts && ratio->value > 1 && ratio->ci_low > 1)
        return VERDICT_REGRESSED;
    if (counts && ratio->value < 1 && ratio->ci_high < 1)
        return VERDICT_IMPROVED;
    if (match->p_floor < significance && ratio->ci_low >= 1 / (1 + threshold) && ratio->ci_high <= 1 + threshold)
        return VERDICT_SAME;
    return VERDICT_INCONCLUSIVE;
}

static void decide(const struct work *work, struct match *match)
{
    const double threshold = work->options->threshold;
    struct comparison_cell *out = &match->out;
    double size;

    if (!out->timed)
        return;
    apply_calibration(work, match);
    out->underpowered = match->p_floor * (double)work->family >= significance ||
                        out->ratio.ci_high / out->ratio.ci_low > (1 + threshold) * (1 + threshold);
    out->verdict = time_verdict(match, threshold);
    if (match->exact_differs && !out->sass_differs)
        out->verdict = VERDICT_REGRESSED;
    size = change_size(&out->ratio);
    if (out->verdict == VERDICT_INCONCLUSIVE && size > threshold && size <= out->noise)
        note(out, "within the cell's noise of %.2g %%", 100 * out->noise);
    note_flags(out, "base", match->base);
    note_flags(out, "new", match->new_cell);
}

/* -- the comparison ----------------------------------------------------------------------------------- */

/* Worst first: gravity, then size of the change, then as the sides have them. */
static int compare_matches(const void *left, const void *right)
{
    const struct match *a = left, *b = right;
    const int gravity = verdict_rows[b->out.verdict].gravity - verdict_rows[a->out.verdict].gravity;
    const double size_a = change_size(&a->out.ratio), size_b = change_size(&b->out.ratio);

    if (gravity != 0)
        return gravity;
    if (size_a != size_b)
        return size_a < size_b ? 1 : -1;
    return (a->order > b->order) - (a->order < b->order);
}

/* Moves the cells to the comparison. */
static enum status finish(struct work *work, struct comparison *out)
{
    out->cells = malloc((work->count + 1) * sizeof(*out->cells));
    if (!out->cells)
        return out_of_memory();
    qsort(work->matches, work->count, sizeof(*work->matches), compare_matches);
    for (size_t i = 0; i < work->count; i++) {
        out->cells[i] = work->matches[i].out;
        work->matches[i].out.changes = NULL;
        out->counts[out->cells[i].verdict]++;
    }
    out->cell_count = work->count;
    return STATUS_OK;
}

static enum status compare(struct work *work, struct comparison *out)
{
    enum status status = match_cells(work);

    if (status == STATUS_OK)
        status = check_facets(work, out);
    for (size_t i = 0; status == STATUS_OK && i < work->count; i++)
        classify(out, &work->matches[i]);
    if (status == STATUS_OK)
        status = time_all(work);
    if (status == STATUS_OK)
        status = adjust(work);
    for (size_t i = 0; status == STATUS_OK && i < work->count; i++)
        decide(work, &work->matches[i]);
    return status == STATUS_OK ? finish(work, out) : status;
}

enum status compare_sides(const struct side *base, const struct side *new_side, const struct compare_options *options,
                          struct comparison *out)
{
    struct work work = {.base = base, .new_side = new_side, .options = options};
    enum status status;

    *out = (struct comparison){.base = base, .new_side = new_side, .options = *options};
    status = compare(&work, out);
    for (size_t i = 0; i < work.count; i++)
        free(work.matches[i].out.changes);
    free(work.matches);
    if (status != STATUS_OK)
        comparison_close(out);
    return status;
}

size_t comparison_common(const struct comparison *comparison)
{
    return comparison->cell_count - comparison->counts[VERDICT_MISSING] - comparison->counts[VERDICT_NEW];
}

enum status comparison_status(const struct comparison *comparison)
{
    enum status status = comparison->comparable ? STATUS_OK : STATUS_ENVIRONMENT;

    for (size_t i = 0; i < verdict_count; i++)
        if (comparison->counts[i] > 0)
            status = status_worse(status, verdict_rows[i].status);
    return status;
}

void comparison_close(struct comparison *comparison)
{
    for (size_t i = 0; i < comparison->cell_count; i++)
        free(comparison->cells[i].changes);
    free(comparison->cells);
    free(comparison->differences);
    *comparison = (struct comparison){0};
}
