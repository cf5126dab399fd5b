/* SPDX-License-Identifier: MIT */
#include "compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "text.h"

/* clang-format off */
const struct verdict_row verdict_rows[] = {
    [VERDICT_SAME] = {"same", "the whole interval lies inside the threshold", STATUS_OK, 0, OUTCOME_PASSED, GRID_PLAIN},
    [VERDICT_IMPROVED] = {"improved", "faster by more than the threshold, significantly and by times that settled",
                          STATUS_OK, 2, OUTCOME_PASSED, GRID_GOOD},
    [VERDICT_REGRESSED] = {"regressed", "slower by as much, or an exact counter differs",
                           STATUS_FINDING, 6, OUTCOME_FAILED, GRID_BAD},
    [VERDICT_INCONCLUSIVE] = {"inconclusive", "the samples do not say", STATUS_INCONCLUSIVE, 3, OUTCOME_SKIPPED, GRID_DOUBT},
    [VERDICT_MISSING] = {"missing", "in BASE and not in NEW", STATUS_FINDING, 5, OUTCOME_FAILED, GRID_BAD},
    [VERDICT_NEW] = {"new", "in NEW and not in BASE", STATUS_OK, 1, OUTCOME_SKIPPED, GRID_DOUBT},
    [VERDICT_INVALID] = {"invalid", "failed, skipped or pending on a side, without time, or not comparable",
                         STATUS_FINDING, 4, OUTCOME_FAILED, GRID_BAD},
};
/* clang-format on */

const size_t verdict_count = sizeof(verdict_rows) / sizeof(verdict_rows[0]);

const struct ratio no_ratio = {.value = NAN, .ci_low = NAN, .ci_high = NAN, .p = NAN};
const struct deviation no_deviation = {.value = NAN, .degrees = NAN};
const char *const side_names[SIDES] = {"base", "new"};

static enum status out_of_memory(void)
{
    return log_memory("a comparison");
}

/* -- matching ----------------------------------------------------------------------------------------- */

static void add_cell(struct comparison *out, const struct side_cell *base, const struct side_cell *new_cell)
{
    const struct side *first = out->sides[BASE];

    out->cells[out->cell_count++] = (struct comparison_cell){
        .cell = base ? base->cell : new_cell->cell,
        .sides = {base, new_cell},
        .order = base ? (size_t)(base - first->cells) : first->cell_count + (size_t)(new_cell - out->sides[NEW]->cells),
        .verdict = base ? VERDICT_MISSING : VERDICT_NEW,
        .ratio = no_ratio,
        .ns = {NAN, NAN},
        .deviation = no_deviation,
        .adjusted_p = NAN,
        .noise = NAN,
    };
}

/* Walks the sorted cells of both sides together. */
static enum status match_cells(struct comparison *out)
{
    const size_t base_count = out->sides[BASE]->cell_count, new_count = out->sides[NEW]->cell_count;
    struct side_cell **base = side_sorted(out->sides[BASE]), **new_cells = side_sorted(out->sides[NEW]);
    enum status status = STATUS_OK;

    out->cells = calloc(base_count + new_count + 1, sizeof(*out->cells));
    if (!base || !new_cells || !out->cells)
        status = out_of_memory();
    for (size_t i = 0, k = 0; status == STATUS_OK && (i < base_count || k < new_count);) {
        const int order = i == base_count ? 1 : k == new_count ? -1 : cell_order(&base[i]->cell, &new_cells[k]->cell);

        add_cell(out, order <= 0 ? base[i++] : NULL, order >= 0 ? new_cells[k++] : NULL);
    }
    free(new_cells);
    free(base);
    return status;
}

/* Whether both sides have the cell. */
static bool is_common(const struct comparison_cell *cell)
{
    return cell->sides[BASE] && cell->sides[NEW];
}

/* -- validity ----------------------------------------------------------------------------------------- */

/* Whether what a side says of a cell can be compared; says why not. */
static bool side_is_valid(struct comparison_cell *out, size_t side)
{
    const struct side_cell *cell = out->sides[side];
    bool positive = true;

    for (size_t i = 0; i < cell->process_count; i++)
        positive = positive && cell->processes[i].samples[0] > 0;
    if (cell->status != CELL_OK)
        comparison_note(out, "%s is %s%s%.180s", side_names[side], cell_status_names[cell->status],
                        cell->reason[0] ? ": " : "", cell->reason);
    else if (cell->process_count == 0)
        comparison_note(out, "%s has no time", side_names[side]);
    else if (!positive)
        comparison_note(out, "%s has a time that is not above 0", side_names[side]);
    return cell->status == CELL_OK && cell->process_count > 0 && positive;
}

/* Whether nothing that may not differ does; says what otherwise. */
static bool is_comparable(const struct comparison *comparison, struct comparison_cell *out)
{
    bool good = true;

    for (size_t i = 0; i < comparison->difference_count; i++) {
        const struct facet_difference *difference = &comparison->differences[i];

        if (difference->allowed || (difference->facet->cell_differs && !facet_differs_in(difference->facet, out)))
            continue;
        comparison_note(out, "not comparable: %s differs", difference->facet->name);
        good = false;
    }
    return good;
}

/* Says how the code differs, where both sides are of one code each. */
static enum status compare_code(struct comparison_cell *out)
{
    const struct side_cell *base = out->sides[BASE], *new_cell = out->sides[NEW];

    out->sass_differs = facet_code_differs(base, new_cell);
    if (!out->sass_differs || strcmp(base->sha256, "mixed") == 0 || strcmp(new_cell->sha256, "mixed") == 0)
        return STATUS_OK;
    return code_compare(base->code, new_cell->code, &out->code);
}

/* Sets what is known of a cell of both sides before any statistics: whether it is to be timed above all. */
static enum status classify(const struct comparison *comparison, struct comparison_cell *out)
{
    bool base_valid, new_valid;

    if (out->sides[BASE]->status == CELL_SKIPPED && out->sides[NEW]->status == CELL_SKIPPED) {
        out->verdict = VERDICT_SAME;
        comparison_note(out, "skipped on both sides");
        return STATUS_OK;
    }
    base_valid = side_is_valid(out, BASE);
    new_valid = side_is_valid(out, NEW);
    out->timed = is_comparable(comparison, out) && base_valid && new_valid;
    out->verdict = out->timed ? VERDICT_INCONCLUSIVE : VERDICT_INVALID;
    return compare_code(out);
}

/* -- counters ----------------------------------------------------------------------------------------- */

/* The value of an exact counter in NEW that BASE has not; BASE's median when there is none. A process that read
 * something else than every process of BASE has changed, even where the median has not. */
static double exact_change(const struct side_counter *base, const struct side_counter *new_counter)
{
    if (new_counter->value != base->value)
        return new_counter->value;
    if (new_counter->low < base->low)
        return new_counter->low;
    return new_counter->high > base->high ? new_counter->high : base->value;
}

/* Notes a counter that changed: an exact one at all, a measured one by more than `threshold`, a share of the value in
 * BASE. */
static void compare_counter(struct comparison_cell *out, size_t index, double threshold)
{
    const struct side_counter *base = &out->sides[BASE]->counters[index];
    const struct side_counter *new_counter = side_counter(out->sides[NEW], base->name, index);
    struct counter_change *change = &out->changes[out->change_count];
    bool exact;

    if (base->read == 0 || !new_counter || new_counter->read == 0)
        return;
    exact = base->kind == COUNTER_EXACT && new_counter->kind == COUNTER_EXACT;
    *change = (struct counter_change){.kind = base->kind, .base = base->value};
    memcpy(change->name, base->name, sizeof(change->name));
    change->new_value = exact ? exact_change(base, new_counter) : new_counter->value;
    if (exact ? change->new_value == base->value
              : !(fabs(change->new_value - base->value) > threshold * fabs(base->value)))
        return;
    out->change_count++;
    out->exact_differs |= exact;
}

/* Of a cell with a ratio. */
static enum status compare_counters(struct comparison_cell *out, double threshold)
{
    const size_t count = out->sides[BASE]->counter_count;

    out->changes = calloc(count + 1, sizeof(*out->changes));
    if (!out->changes)
        return out_of_memory();
    for (size_t i = 0; i < count; i++)
        compare_counter(out, i, threshold);
    if (out->exact_differs && out->sass_differs)
        comparison_note(out, "the code differs: exact counters that differ are no regression by themselves");
    return STATUS_OK;
}

/* -- the comparison ----------------------------------------------------------------------------------- */

/* Worst first: gravity, then size of the change, then as the sides have them. */
static int compare_cells(const void *left, const void *right)
{
    const struct comparison_cell *a = left, *b = right;
    const int gravity = verdict_rows[b->verdict].gravity - verdict_rows[a->verdict].gravity;
    const double size_a = ratio_size(&a->ratio), size_b = ratio_size(&b->ratio);

    if (gravity != 0)
        return gravity;
    if (size_a != size_b)
        return size_a < size_b ? 1 : -1;
    return (a->order > b->order) - (a->order < b->order);
}

/* Counts and sorts. */
static void finish(struct comparison *out)
{
    for (size_t i = 0; i < out->cell_count; i++)
        out->counts[out->cells[i].verdict]++;
    out->comparable = comparison_common(out) > 0;
    for (size_t i = 0; i < out->difference_count; i++)
        out->comparable = out->comparable && out->differences[i].allowed;
    qsort(out->cells, out->cell_count, sizeof(*out->cells), compare_cells);
}

enum status compare_sides(const struct side *base, const struct side *new_side, const struct compare_options *options,
                          struct comparison *out)
{
    enum status status;

    *out = (struct comparison){.sides = {base, new_side}, .options = *options};
    status = match_cells(out);
    comparison_find_differences(out);
    for (size_t i = 0; status == STATUS_OK && i < out->cell_count; i++)
        if (is_common(&out->cells[i]))
            status = classify(out, &out->cells[i]);
    for (size_t i = 0; status == STATUS_OK && i < out->cell_count; i++)
        if (out->cells[i].timed)
            status = compare_counters(&out->cells[i], options->counter_threshold);
    if (status == STATUS_OK)
        status = comparison_judge(out);
    if (status == STATUS_OK)
        finish(out);
    else
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
    for (size_t i = 0; i < comparison->cell_count; i++) {
        free(comparison->cells[i].changes);
        free(comparison->cells[i].code);
    }
    free(comparison->cells);
    *comparison = (struct comparison){0};
}
