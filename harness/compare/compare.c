/* SPDX-License-Identifier: MIT */
#include "compare.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "parallel.h"
#include "random.h"

static const double significance = 0.05;   /* of the adjusted p */
static const double clock_tolerance = 0.01; /* relative difference of SM clocks that is none */

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

/* -- facets ------------------------------------------------------------------------------------------- */

enum {
    FACET_ENGINE,
    FACET_DEVICE,
    FACET_UUID,
    FACET_DRIVER,
    FACET_VBIOS,
    FACET_CLOCKS,
    FACET_ECC,
    FACET_MIG,
    FACET_SASS,
    FACET_COUNT
};

#define TEXT_OF(member) .offset = offsetof(struct side_identity, member)
#define OF_CELLS        .offset = SIZE_MAX

const struct facet facets[] = {
    [FACET_ENGINE] = {.name = "engine", .summary = "measured or modelled", TEXT_OF(engine)},
    [FACET_DEVICE] = {.name = "device", .summary = "name of the GPU or card", TEXT_OF(device)},
    [FACET_UUID] = {.name = "uuid", .summary = "the very GPU", TEXT_OF(uuid)},
    [FACET_DRIVER] = {.name = "driver", .summary = "version of the driver", .allowed = true, TEXT_OF(driver)},
    [FACET_VBIOS] = {.name = "vbios", .summary = "version of the GPU's firmware", .allowed = true, TEXT_OF(vbios)},
    [FACET_CLOCKS] = {.name = "clocks", .summary = "SM clock of a cell, by more than 1 %", OF_CELLS},
    [FACET_ECC] = {.name = "ecc", .summary = "error correction of the memory", TEXT_OF(ecc)},
    [FACET_MIG] = {.name = "mig", .summary = "multi-instance mode", TEXT_OF(mig)},
    [FACET_SASS] = {.name = "sass", .summary = "machine code of a cell's kernel", OF_CELLS},
};

const size_t facet_count = sizeof(facets) / sizeof(facets[0]);

static bool is_allowed(const struct compare_options *options, const struct facet *facet)
{
    if (facet->allowed)
        return true;
    for (size_t i = 0; options->allowed && i < options->allowed->count; i++)
        if (options->allowed->rows[i] == facet)
            return true;
    return false;
}

/* Whether two texts are known and not the same; "mixed" is the same as nothing. */
static bool text_differs(const char *base, const char *new_text)
{
    return *base && *new_text && (strcmp(base, new_text) != 0 || strcmp(base, "mixed") == 0);
}

static bool clocks_differ(const struct side_cell *base, const struct side_cell *new_cell)
{
    const double ratio = new_cell->sm_clock_mhz / base->sm_clock_mhz;

    /* False for NaN, a clock that is not known. */
    return ratio > 1 + clock_tolerance || 1 / ratio > 1 + clock_tolerance;
}

static bool sass_differs(const struct side_cell *base, const struct side_cell *new_cell)
{
    return text_differs(base->sha256, new_cell->sha256);
}

/* Facets of cells, by facet; NULL for those of sides. */
static bool (*const cell_facets[FACET_COUNT])(const struct side_cell *base, const struct side_cell *new_cell) = {
    [FACET_CLOCKS] = clocks_differ,
    [FACET_SASS] = sass_differs,
};

/* -- matching ----------------------------------------------------------------------------------------- */

/* A cell and what the two sides say of it. */
struct match {
    const struct side_cell *base, *new_cell; /* NULL where the side has no such cell */
    struct comparison_cell out;
    bool timed;         /* has a ratio */
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
};

static enum status out_of_memory(void)
{
    return log_error(STATUS_ENVIRONMENT, "out of memory; compare fewer cells or launches at a time");
}

static int compare_side_cells(const void *left, const void *right)
{
    return cell_order(&(*(const struct side_cell *const *)left)->cell,
                      &(*(const struct side_cell *const *)right)->cell);
}

/* The cells of a side by cell_order; NULL when out of memory. The caller's. */
static const struct side_cell **sorted_cells(const struct side *side)
{
    const struct side_cell **cells = malloc((side->cell_count + 1) * sizeof(*cells));

    for (size_t i = 0; cells && i < side->cell_count; i++)
        cells[i] = &side->cells[i];
    if (cells)
        qsort(cells, side->cell_count, sizeof(*cells), compare_side_cells);
    return cells;
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
                .adjusted_p = NAN},
        .order = base ? (size_t)(base - work->base->cells)
                      : work->base->cell_count + (size_t)(new_cell - work->new_side->cells),
    };
}

/* Walks the sorted cells of both sides together. */
static void match_sorted(struct work *work, const struct side_cell **base, const struct side_cell **new_cells)
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
    const struct side_cell **base = sorted_cells(work->base);
    const struct side_cell **new_cells = sorted_cells(work->new_side);
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

static size_t cells_that_differ(const struct work *work, size_t facet)
{
    size_t count = 0;

    for (size_t i = 0; i < work->count; i++) {
        const struct match *match = &work->matches[i];

        count += match->base && match->new_cell && cell_facets[facet](match->base, match->new_cell);
    }
    return count;
}

/* Adds the facet to the differences if it is one. */
static void check_facet(const struct work *work, size_t facet, struct comparison *out)
{
    struct facet_difference *difference = &out->differences[out->difference_count];

    *difference = (struct facet_difference){.facet = &facets[facet]};
    difference->allowed = is_allowed(work->options, difference->facet);
    if (cell_facets[facet]) {
        const size_t count = cells_that_differ(work, facet);

        if (count == 0)
            return;
        snprintf(difference->base, sizeof(difference->base), "%zu cell%s", count, count == 1 ? "" : "s");
        memcpy(difference->new_text, difference->base, sizeof(difference->base));
    } else {
        const char *base = (const char *)&work->base->identity + facets[facet].offset;
        const char *new_text = (const char *)&work->new_side->identity + facets[facet].offset;

        if (!text_differs(base, new_text))
            return;
        snprintf(difference->base, sizeof(difference->base), "%s", base);
        snprintf(difference->new_text, sizeof(difference->new_text), "%s", new_text);
    }
    out->difference_count++;
    out->comparable = out->comparable && difference->allowed;
}

static enum status check_facets(const struct work *work, struct comparison *out)
{
    out->differences = calloc(FACET_COUNT, sizeof(*out->differences));
    if (!out->differences)
        return out_of_memory();
    out->comparable = work->common > 0;
    for (size_t facet = 0; facet < FACET_COUNT; facet++)
        check_facet(work, facet, out);
    return STATUS_OK;
}

/* -- notes -------------------------------------------------------------------------------------------- */

/* Adds to the cell's note, after a semicolon. */
__attribute__((format(printf, 2, 3))) static void note(struct comparison_cell *cell, const char *format, ...)
{
    size_t used = strlen(cell->note);
    va_list arguments;

    used += (size_t)snprintf(cell->note + used, sizeof(cell->note) - used, "%s", used ? "; " : "");
    if (used >= sizeof(cell->note))
        return;
    va_start(arguments, format);
    vsnprintf(cell->note + used, sizeof(cell->note) - used, format, arguments);
    va_end(arguments);
}

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
    for (size_t i = 0; i < cell->launch_count; i++)
        for (size_t k = 0; k < cell->launches[i].count; k++)
            if (!(cell->launches[i].samples[k] > 0))
                return false;
    return true;
}

/* Whether a side's cell can be compared; says why not. */
static bool side_is_valid(struct comparison_cell *out, const char *side, const struct side_cell *cell)
{
    if (cell->status != CELL_OK)
        note(out, "%s is %s%s%.180s", side, cell_status_names[cell->status], cell->reason[0] ? ": " : "", cell->reason);
    else if (cell->launch_count == 0)
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
        const size_t facet = (size_t)(difference->facet - facets);

        if (difference->allowed || (cell_facets[facet] && !cell_facets[facet](match->base, match->new_cell)))
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
    out->sass_differs = sass_differs(match->base, match->new_cell);
    base_valid = side_is_valid(out, "base", match->base);
    new_valid = side_is_valid(out, "new", match->new_cell);
    match->timed = is_comparable(comparison, match, out) && base_valid && new_valid;
    out->verdict = match->timed ? VERDICT_INCONCLUSIVE : VERDICT_INVALID;
}

/* -- counters ----------------------------------------------------------------------------------------- */

/* The value of an exact counter in NEW that BASE has not; BASE's median when there is none. A launch that read
 * something else than every launch of BASE has changed, even where the median has not. */
static double exact_change(const struct side_counter *base, const struct side_counter *new_counter)
{
    if (new_counter->value != base->value)
        return new_counter->value;
    if (new_counter->low < base->low)
        return new_counter->low;
    return new_counter->high > base->high ? new_counter->high : base->value;
}

/* Whether a counter changed, by *value in NEW. */
static bool counter_changed(const struct side_counter *base, const struct side_counter *new_counter, double threshold,
                            double *value)
{
    if (base->kind == COUNTER_EXACT && new_counter->kind == COUNTER_EXACT) {
        *value = exact_change(base, new_counter);
        return *value != base->value;
    }
    *value = new_counter->value;
    return fabs(new_counter->value - base->value) > threshold * fabs(base->value);
}

/* The counter of that name, which is most often the one at `hint`; NULL where no launch read it. */
static const struct side_counter *find_counter(const struct side_cell *cell, const char *name, size_t hint)
{
    for (size_t i = 0; i < cell->counter_count; i++) {
        const struct side_counter *counter = &cell->counters[(hint + i) % cell->counter_count];

        if (strcmp(counter->name, name) == 0)
            return counter->read > 0 ? counter : NULL;
    }
    return NULL;
}

static void compare_counter(const struct compare_options *options, struct match *match, size_t index)
{
    const struct side_counter *base = &match->base->counters[index];
    const struct side_counter *new_counter = find_counter(match->new_cell, base->name, index);
    struct comparison_cell *out = &match->out;
    struct counter_change *change;
    double value;

    if (base->read == 0 || !new_counter || !counter_changed(base, new_counter, options->counter_threshold, &value))
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

    for (size_t i = 0; i < cell->launch_count; i++)
        total += cell->launches[i].count;
    return total;
}

/* The smallest p that the samples can give, whatever their times: of a permutation test of all against all, or of a
 * sign test against a prediction; and of the resampling. The bootstrap does not know it: one sample a side has no
 * spread, and would be certain. */
static double least_p(const struct match *match)
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
    return fmin(1, fmax(2 / arrangements, 1 / (match->out.ratio.resamples + 1.0)));
}

/* Predictions do not vary: equal or not is certain. */
static void predicted_ratio(struct ratio *ratio)
{
    ratio->p = ratio->value == 1 ? 1 : 0;
}

static enum status time_match(const struct compare_options *options, struct match *match)
{
    const struct sample_side base = {match->base->launches, match->base->launch_count};
    const struct sample_side new_side = {match->new_cell->launches, match->new_cell->launch_count};
    struct comparison_cell *out = &match->out;
    enum status status = side_median(&base, &out->base_ns);

    if (status == STATUS_OK)
        status = side_median(&new_side, &out->new_ns);
    if (status == STATUS_OK)
        status = ratio_bootstrap(&base, &new_side, cell_seed(options->seed, &out->cell), &out->ratio);
    if (status != STATUS_OK)
        return status;
    if (match->base->modelled && match->new_cell->modelled)
        predicted_ratio(&out->ratio);
    match->p_floor = least_p(match);
    match->p = fmax(out->ratio.p, match->p_floor);
    if (isfinite(out->ratio.value + out->ratio.ci_high) && fmin(out->ratio.value, out->ratio.ci_low) > 0)
        return STATUS_OK;
    note(out, "the times are too far apart for a ratio");
    out->ratio = (struct ratio){.value = NAN, .ci_low = NAN, .ci_high = NAN, .p = NAN};
    out->verdict = VERDICT_INVALID;
    match->timed = false;
    return STATUS_OK;
}

/* Times of a cell that are not compared, for the eye: of a missing one above all. */
static enum status lone_times(struct match *match)
{
    const struct side_cell *const cells[] = {match->base, match->new_cell};
    double *const times[] = {&match->out.base_ns, &match->out.new_ns};
    enum status status = STATUS_OK;

    for (size_t i = 0; status == STATUS_OK && i < 2; i++)
        if (cells[i] && cells[i]->launch_count > 0)
            status = side_median(&(struct sample_side){cells[i]->launches, cells[i]->launch_count}, times[i]);
    return status;
}

static void time_range(void *context, uint64_t first, uint64_t count)
{
    const struct work *work = context;

    for (size_t i = first; i < first + count; i++) {
        struct match *match = &work->matches[i];

        if (match->timed)
            match->status = compare_counters(work->options, match);
        if (match->timed && match->status == STATUS_OK)
            match->status = time_match(work->options, match);
        if (!match->timed && match->status == STATUS_OK)
            match->status = lone_times(match);
    }
}

static enum status time_all(struct work *work)
{
    enum status status = STATUS_OK;

    parallel_ranges(work->count, 1, time_range, work);
    for (size_t i = 0; i < work->count; i++)
        status = status_worse(status, work->matches[i].status);
    return status;
}

/* Holm's correction over all cells with a ratio; *family is their number. */
static enum status adjust(struct work *work, size_t *family)
{
    double *p = malloc((work->count + 1) * sizeof(*p)), *adjusted = malloc((work->count + 1) * sizeof(*p));
    enum status status = p && adjusted ? STATUS_OK : out_of_memory();

    *family = 0;
    for (size_t i = 0; status == STATUS_OK && i < work->count; i++)
        if (work->matches[i].timed)
            p[(*family)++] = work->matches[i].p;
    if (status == STATUS_OK)
        status = holm_adjust(p, *family, adjusted);
    for (size_t i = 0, k = 0; status == STATUS_OK && i < work->count; i++)
        if (work->matches[i].timed)
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
    out->noise_known = base_known || new_known;
    out->noise = fmax(base_known ? base : 0, new_known ? new_noise : 0);
    if (!out->noise_known)
        note(out, "no calibrated noise: %s", why_base);
}

/* By how much the slower side is slower. */
static double change_size(const struct ratio *ratio)
{
    return isnan(ratio->value) ? 0 : fmax(ratio->value, 1 / ratio->value) - 1;
}

static enum verdict time_verdict(const struct comparison_cell *cell, double threshold, bool can_be_significant)
{
    const struct ratio *ratio = &cell->ratio;
    const bool counts = change_size(ratio) > fmax(threshold, cell->noise) && cell->adjusted_p < significance;

    if (counts && ratio->value > 1 && ratio->ci_low > 1)
        return VERDICT_REGRESSED;
    if (counts && ratio->value < 1 && ratio->ci_high < 1)
        return VERDICT_IMPROVED;
    /* Too few samples to see a change are too few to rule one out. */
    if (can_be_significant && ratio->ci_low >= 1 / (1 + threshold) && ratio->ci_high <= 1 + threshold)
        return VERDICT_SAME;
    return VERDICT_INCONCLUSIVE;
}

static void note_time(struct comparison_cell *cell, double threshold)
{
    const double size = change_size(&cell->ratio);

    if (cell->verdict == VERDICT_INCONCLUSIVE && size > threshold && size <= cell->noise)
        note(cell, "within the cell's noise of %.2g %%", 100 * cell->noise);
}

static void decide(const struct work *work, struct match *match, size_t family)
{
    const double threshold = work->options->threshold;
    struct comparison_cell *out = &match->out;
    bool can_be_significant;

    if (!match->timed)
        return;
    apply_calibration(work, match);
    can_be_significant = match->p_floor * (double)family < significance;
    out->underpowered =
        !can_be_significant || out->ratio.ci_high / out->ratio.ci_low > (1 + threshold) * (1 + threshold);
    out->verdict = time_verdict(out, threshold, can_be_significant);
    if (match->exact_differs && !out->sass_differs)
        out->verdict = VERDICT_REGRESSED;
    note_time(out, threshold);
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
    size_t family = 0;

    if (status == STATUS_OK)
        status = check_facets(work, out);
    for (size_t i = 0; status == STATUS_OK && i < work->count; i++)
        classify(out, &work->matches[i]);
    if (status == STATUS_OK)
        status = time_all(work);
    if (status == STATUS_OK)
        status = adjust(work, &family);
    for (size_t i = 0; status == STATUS_OK && i < work->count; i++)
        decide(work, &work->matches[i], family);
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
