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

/* Cells of a GPU have orders below this. */
#define ORDER_OF_GPU ((size_t)1 << 32)

static enum status out_of_memory(void)
{
    return log_memory("a comparison");
}

/* -- matching ----------------------------------------------------------------------------------------- */

static void add_cell(struct comparison *out, struct compared_gpu *gpu, const struct side_cell *base,
                     const struct side_cell *new_cell)
{
    const struct side *first = gpu->sides[BASE];

    gpu->plans_differ = gpu->plans_differ || !base || !new_cell;
    out->cells[out->cell_count++] = (struct comparison_cell){
        .cell = base ? base->cell : new_cell->cell,
        .gpu = gpu,
        .sides = {base, new_cell},
        .order = base ? (size_t)(base - first->cells) : first->cell_count + (size_t)(new_cell - gpu->sides[NEW]->cells),
        .verdict = base ? VERDICT_MISSING : VERDICT_NEW,
        .ratio = no_ratio,
        .clock_ratio = 1,
        .ns = {NAN, NAN},
        .deviation = no_deviation,
        .adjusted_p = NAN,
        .noise = NAN,
    };
}

/* Walks the sorted cells of both sides of a GPU together. */
static enum status match_cells(struct comparison *out, struct compared_gpu *gpu)
{
    const size_t base_count = gpu->sides[BASE]->cell_count, new_count = gpu->sides[NEW]->cell_count;
    struct side_cell **base = side_sorted(gpu->sides[BASE]), **new_cells = side_sorted(gpu->sides[NEW]);
    enum status status = base && new_cells ? STATUS_OK : out_of_memory();

    for (size_t i = 0, k = 0; status == STATUS_OK && (i < base_count || k < new_count);) {
        const int order = i == base_count ? 1 : k == new_count ? -1 : cell_order(&base[i]->cell, &new_cells[k]->cell);

        add_cell(out, gpu, order <= 0 ? base[i++] : NULL, order >= 0 ? new_cells[k++] : NULL);
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
        positive = positive && cell->processes[i].least > 0;
    if (cell->status != CELL_OK)
        comparison_note(out, "%s is %s%s%.180s", side_names[side], cell_status_names[cell->status],
                        cell->reason && *cell->reason ? ": " : "", cell->reason ? cell->reason : "");
    else if (cell->process_count == 0)
        comparison_note(out, "%s has no time", side_names[side]);
    else if (!positive)
        comparison_note(out, "%s has a time that is not above 0", side_names[side]);
    return cell->status == CELL_OK && cell->process_count > 0 && positive;
}

/* Whether nothing that may not differ does; says what otherwise. */
static bool is_comparable(struct comparison_cell *out)
{
    bool good = true;

    for (size_t i = 0; i < out->gpu->difference_count; i++) {
        const struct facet_difference *difference = &out->gpu->differences[i];

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
    if (!out->sass_differs || side_is_mixed(base->sha256) || side_is_mixed(new_cell->sha256))
        return STATUS_OK;
    return code_compare(base->code, new_cell->code, &out->code);
}

/* Sets what is known of a cell of both sides before any statistics: whether it is to be timed above all. */
static enum status classify(struct comparison_cell *out)
{
    bool base_valid, new_valid;

    if (out->sides[BASE]->status == CELL_SKIPPED && out->sides[NEW]->status == CELL_SKIPPED) {
        out->verdict = VERDICT_SAME;
        comparison_note(out, "skipped on both sides");
        return STATUS_OK;
    }
    base_valid = side_is_valid(out, BASE);
    new_valid = side_is_valid(out, NEW);
    out->timed = is_comparable(out) && base_valid && new_valid;
    out->verdict = out->timed ? VERDICT_INCONCLUSIVE : VERDICT_INVALID;
    return compare_code(out);
}

/* -- counters ----------------------------------------------------------------------------------------- */

/* The least and the greatest value of a process. */
static double least(const struct side_counter *counter)
{
    return counter->values ? counter->values[0] : counter->value;
}

static double greatest(const struct side_counter *counter)
{
    return counter->values ? counter->values[counter->read - 1] : counter->value;
}

/* The value of an exact counter in NEW that BASE has not; BASE's median when there is none. A process that read
 * something else than every process of BASE has changed, even where the median has not. */
static double exact_change(const struct side_counter *base, const struct side_counter *new_counter)
{
    if (new_counter->value != base->value)
        return new_counter->value;
    if (least(new_counter) < least(base))
        return least(new_counter);
    return greatest(new_counter) > greatest(base) ? greatest(new_counter) : base->value;
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
    snprintf(change->name, sizeof(change->name), "%s", base->name);
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
    /* Of most cells nothing moved. */
    if (out->change_count == 0) {
        free(out->changes);
        out->changes = NULL;
    }
    if (out->exact_differs && out->sass_differs)
        comparison_note(out, "the code differs: exact counters that differ are no regression by themselves");
    return STATUS_OK;
}

/* -- GPUs ---------------------------------------------------------------------------------------------- */

static bool has_gpu(const struct compared_gpu *gpu, size_t side)
{
    return gpu->sides[side]->files > 0 || gpu->sides[side]->cell_count > 0;
}

const struct side_identity *gpu_identity(const struct compared_gpu *gpu)
{
    return &gpu->sides[has_gpu(gpu, BASE) ? BASE : NEW]->identity;
}

/* What differs of a GPU, differs of the comparison; where GPUs do not agree, in several ways. */
static void merge_differences(struct comparison *out, const struct compared_gpu *gpu)
{
    for (size_t i = 0; i < gpu->difference_count; i++) {
        const struct facet_difference *from = &gpu->differences[i];
        size_t at = 0;

        while (at < out->difference_count && out->differences[at].facet < from->facet)
            at++;
        if (at < out->difference_count && out->differences[at].facet == from->facet) {
            struct facet_difference *to = &out->differences[at];

            if (strcmp(to->base, from->base) != 0 || strcmp(to->new_text, from->new_text) != 0) {
                snprintf(to->base, sizeof(to->base), "several");
                snprintf(to->new_text, sizeof(to->new_text), "several");
            }
            continue;
        }
        memmove(&out->differences[at + 1], &out->differences[at],
                (out->difference_count - at) * sizeof(out->differences[0]));
        out->differences[at] = *from;
        out->difference_count++;
    }
}

/* Matches the cells of a GPU, and says of each what is known before any statistics. */
static enum status add_gpu(struct comparison *out, struct compared_gpu *gpu)
{
    const size_t first = out->cell_count;
    enum status status = match_cells(out, gpu);

    gpu_find_differences(out, gpu, out->cell_count - first);
    merge_differences(out, gpu);
    gpu->comparable = true;
    for (size_t i = 0; i < gpu->difference_count; i++)
        gpu->comparable = gpu->comparable && gpu->differences[i].allowed;
    for (size_t i = first; status == STATUS_OK && i < out->cell_count; i++)
        if (is_common(&out->cells[i]))
            status = classify(&out->cells[i]);
    for (size_t i = first; status == STATUS_OK && i < out->cell_count; i++)
        if (out->cells[i].timed)
            status = compare_counters(&out->cells[i], out->options.counter_threshold);
    if (out->gpu_count == 1 || (has_gpu(gpu, BASE) && has_gpu(gpu, NEW)))
        out->plans_differ = out->plans_differ || gpu->plans_differ;
    return status;
}

/* Sets what its cells come to. */
static void conclude_gpu(struct compared_gpu *gpu)
{
    gpu->verdict = !has_gpu(gpu, NEW) ? VERDICT_MISSING : !has_gpu(gpu, BASE) ? VERDICT_NEW : VERDICT_SAME;
    for (size_t i = 0; has_gpu(gpu, BASE) && has_gpu(gpu, NEW) && i < verdict_count; i++)
        if (gpu->counts[i] > 0 && verdict_rows[i].gravity > verdict_rows[gpu->verdict].gravity)
            gpu->verdict = (enum verdict)i;
}

bool gpu_is_alone(const struct compared_gpu *gpu)
{
    return !has_gpu(gpu, BASE) || !has_gpu(gpu, NEW);
}

size_t comparison_alone(const struct comparison *comparison)
{
    size_t count = 0;

    for (size_t i = 0; comparison_is_by_gpu(comparison) && i < comparison->cell_count; i++)
        count += gpu_is_alone(comparison->cells[i].gpu);
    return count;
}

bool comparison_is_by_gpu(const struct comparison *comparison)
{
    return comparison->gpu_count != 1;
}

size_t comparison_gpus(const struct comparison *comparison, enum verdict verdict)
{
    size_t count = 0;

    for (size_t i = 0; i < comparison->gpu_count; i++)
        count += comparison->gpus[i].verdict == verdict;
    return count;
}

/* A board whose place on the other side another one has. */
static void find_replaced(struct comparison *out)
{
    for (size_t i = 0; i < out->gpu_count * out->gpu_count; i++) {
        struct compared_gpu *old = &out->gpus[i / out->gpu_count], *fresh = &out->gpus[i % out->gpu_count];
        const struct side_identity *was = gpu_identity(old), *is = gpu_identity(fresh);

        if (old->verdict != VERDICT_MISSING || fresh->verdict != VERDICT_NEW || !was->host.name[0] ||
            !was->host.slot[0] || strcmp(was->host.name, is->host.name) != 0 ||
            strcmp(was->host.slot, is->host.slot) != 0)
            continue;
        snprintf(old->note, sizeof(old->note), "the board was replaced: %s is in its slot", is->device.uuid);
        snprintf(fresh->note, sizeof(fresh->note), "the board was replaced: %s was in this slot", was->device.uuid);
    }
}

/* -- the comparison ----------------------------------------------------------------------------------- */

/* Worst first: gravity, then size of the change, then as the sides have them. Those of GPUs that a side lacks come last:
 * that the GPU is missing says it all. */
static int compare_cells(const void *left, const void *right)
{
    const struct comparison_cell *a = left, *b = right;
    const int gravity = verdict_rows[b->verdict].gravity - verdict_rows[a->verdict].gravity;
    const int alone = gpu_is_alone(a->gpu) - gpu_is_alone(b->gpu);
    const double size_a = change_size(a), size_b = change_size(b);

    if (alone != 0)
        return alone;
    if (gravity != 0)
        return gravity;
    if (size_a != size_b)
        return size_a < size_b ? 1 : -1;
    return (a->order > b->order) - (a->order < b->order);
}

static int compare_gravity(const void *left, const void *right)
{
    const struct compared_gpu *a = left, *b = right;
    const int gravity = verdict_rows[b->verdict].gravity - verdict_rows[a->verdict].gravity;
    const size_t grave_a = a->counts[a->verdict], grave_b = b->counts[b->verdict];

    if (gravity == 0 && grave_a != grave_b)
        return grave_a < grave_b ? 1 : -1;
    return gravity ? gravity : (a->order > b->order) - (a->order < b->order);
}

/* Sorts the GPUs, and lets the cells know where theirs is now. */
static enum status sort_gpus(struct comparison *out)
{
    size_t *places = calloc(out->gpu_count + 1, sizeof(*places));

    if (!places)
        return out_of_memory();
    for (size_t i = 0; i < out->cell_count; i++)
        out->cells[i].order += out->cells[i].gpu->order * ORDER_OF_GPU;
    qsort(out->gpus, out->gpu_count, sizeof(*out->gpus), compare_gravity);
    for (size_t i = 0; i < out->gpu_count; i++)
        places[out->gpus[i].order] = i;
    for (size_t i = 0; i < out->cell_count; i++)
        out->cells[i].gpu = &out->gpus[places[out->cells[i].order / ORDER_OF_GPU]];
    free(places);
    return STATUS_OK;
}

/* Counts and sorts. A comparison of several GPUs is one where one of them can be compared. */
static enum status finish(struct comparison *out)
{
    bool comparable = false;

    for (size_t i = 0; i < out->cell_count; i++) {
        const struct comparison_cell *cell = &out->cells[i];

        out->counts[cell->verdict]++;
        out->gpus[cell->gpu - out->gpus].counts[cell->verdict]++;
    }
    for (size_t i = 0; i < out->gpu_count; i++) {
        conclude_gpu(&out->gpus[i]);
        comparable = comparable || out->gpus[i].comparable;
    }
    out->comparable = comparable && comparison_common(out) > 0;
    find_replaced(out);
    if (sort_gpus(out) != STATUS_OK)
        return STATUS_ENVIRONMENT;
    qsort(out->cells, out->cell_count, sizeof(*out->cells), compare_cells);
    return STATUS_OK;
}

enum status compare_gpus(const struct side *const sides[SIDES], const struct side *const (*pairs)[SIDES], size_t count,
                         const struct compare_options *options, struct comparison *out)
{
    size_t cells = 0;
    enum status status = STATUS_OK;

    *out = (struct comparison){.sides = {sides[BASE], sides[NEW]}, .options = *options};
    for (size_t i = 0; i < count; i++)
        cells += pairs[i][BASE]->cell_count + pairs[i][NEW]->cell_count;
    out->gpus = calloc(count + 1, sizeof(*out->gpus));
    out->cells = calloc(cells + 1, sizeof(*out->cells));
    if (!out->gpus || !out->cells)
        status = out_of_memory();
    out->gpu_count = status == STATUS_OK ? count : 0;
    for (size_t i = 0; status == STATUS_OK && i < count; i++) {
        out->gpus[i].order = i;
        memcpy(out->gpus[i].sides, pairs[i], sizeof(pairs[i]));
        status = add_gpu(out, &out->gpus[i]);
    }
    if (status == STATUS_OK)
        status = comparison_judge(out);
    if (status == STATUS_OK)
        status = finish(out);
    if (status != STATUS_OK)
        comparison_close(out);
    return status;
}

enum status compare_sides(const struct side *base, const struct side *new_side, const struct compare_options *options,
                          struct comparison *out)
{
    const struct side *const pair[1][SIDES] = {{base, new_side}};

    return compare_gpus(pair[0], pair, 1, options, out);
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
    free(comparison->gpus);
    *comparison = (struct comparison){0};
}
