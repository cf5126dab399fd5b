/* SPDX-License-Identifier: MIT
 * Where a table should live: counts of every memory space that can hold it, for the pattern or the
 * loads that were asked about, and what was measured of them or near them. */
#include "advise.h"

#include <math.h>
#include <stdlib.h>

#include "image.h"
#include "log.h"
#include "ranking.h"
#include "text_print.h"

const char *const advise_standing_names[ADVISE_STANDING_COUNT] = {
    [ADVISE_FIRST] = "best",
    [ADVISE_ALIKE_FIRST] = "as good",
    [ADVISE_TOO_CLOSE] = "too close to call",
    [ADVISE_SLOWER] = "slower",
    [ADVISE_SLOWER_ON_AVERAGE] = "slower on average",
    [ADVISE_UNKNOWN] = "not known",
};

/* A number to sort by: the measured time, else what near lookups say. Infinite without both. */
static double sort_key(const struct advised_space *space)
{
    if (!isnan(space->time_ns))
        return space->time_ns;
    return space->standing == ADVISE_UNKNOWN ? INFINITY : space->near.mean;
}

/* Those that cannot hold the table come last; equal ones stay in the order of paths.def. */
static int compare_spaces(const void *left, const void *right)
{
    const struct advised_space *a = left, *b = right;
    const double a_key = sort_key(a), b_key = sort_key(b);

    if (!a->reason[0] != !b->reason[0])
        return a->reason[0] ? 1 : -1;
    return a_key != b_key ? (a_key > b_key) - (a_key < b_key)
                          : (a->path > b->path) - (a->path < b->path);
}

static void sort(struct advice *advice)
{
    qsort(advice->spaces, advice->count + advice->excluded, sizeof(*advice->spaces),
          compare_spaces);
}

/* Makes the command that measures the spaces that may be the best. */
static enum status finish(struct advice *advice)
{
    free(advice->measure);
    advice->measure = advise_run_command(advice);
    return advice->measure ? STATUS_OK : log_memory("a command");
}

/* The best by near lookups, and at most so many that are as good; more are too close to call. */
static void answer(struct advice *advice)
{
    size_t alike = 0;

    sort(advice);
    advice->choice = NULL;
    for (struct advised_space *space = advice->spaces; space < advice->spaces + advice->count;
         space++) {
        if (space->near.count)
            snprintf(space->near_text, sizeof(space->near_text), "%.2fx to %.2fx",
                     space->near.least, space->near.most);
        if (space->standing != ADVISE_ALIKE_FIRST)
            continue;
        alike++;
        space->standing = alike == 1                  ? ADVISE_FIRST
                          : alike > ADVISE_ANSWER_MAX ? ADVISE_TOO_CLOSE
                                                      : ADVISE_ALIKE_FIRST;
        if (alike == 1)
            advice->choice = space->path->name;
    }
}

static const struct cell *space_cell(const void *rows, size_t index)
{
    return &((const struct advised_space *)rows)[index].cell;
}

/* Counts a cell, and the busy time of its units by the card and the kernel's code for its chip, if
 * the program has it. */
static enum status fill_space(struct advice *advice, size_t index, struct index_list *indices,
                              struct access_counts *counts)
{
    const struct card *card = &advice->card;
    struct advised_space *space = &advice->spaces[index];
    struct cell_estimate estimate;
    struct kernel_sass sass;
    struct expectation expectation = {.cell = &space->cell, .access = &space->access};
    struct time_kernel kernel;
    struct image image;
    const struct index_array *array;
    enum status status = index_list_give(indices, &space->cell, &array);

    card_set_grid(card, &space->cell);
    if (status == STATUS_OK)
        status = access_count_next(space_cell, advice->spaces, index, counts);
    if (status != STATUS_OK)
        return status;
    space->access = counts[index];
    if (image_for_chip(space->cell.workload->name, card->cc_major, card->cc_minor, &image) &&
        image_kernel(image.data, image.bytes, &space->cell, &sass) && sass.counted)
        expectation.sass = &sass.counts;
    kernel = estimate_kernel(&expectation);
    estimate_time(&space->cell, &space->access, card, &kernel, &estimate);
    space->requests_per_load = access_requests_per_load(&space->cell, &space->access);
    space->busy_ns = estimate.least_ns;
    space->unit = estimate.least_ns > 0 ? time_units[estimate.least_unit].name : NULL;
    return STATUS_OK;
}

/* Adds the paths of a plan: those whose cells can be, and behind them the excluded ones. */
static enum status add_spaces(struct advice *out, const struct plan *plan,
                              struct index_list *indices, struct access_counts *counts)
{
    const uint32_t architecture = card_architecture(&out->card);

    for (size_t i = 0; i < plan->count; i++) {
        const size_t index = out->count + out->excluded;
        struct advised_space *space = &out->spaces[index];
        enum status status;

        *space = (struct advised_space){.path = plan->cells[i].path,
                                        .cell = plan->cells[i],
                                        .time_ns = NAN,
                                        .ci_low = NAN,
                                        .ci_high = NAN,
                                        .half_width = NAN,
                                        .ratio = NAN,
                                        .standing = ADVISE_UNKNOWN};
        if (cell_obstacle(&space->cell, architecture, space->reason)) {
            out->excluded++;
            continue;
        }
        out->count++;
        status = fill_space(out, index, indices, counts);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

/* Says why no path is left: the reason of the one that holds the most. */
static enum status refuse_lookups(const struct advice *advice)
{
    const struct advised_space *largest = advice->spaces;

    for (size_t i = 1; i < advice->excluded; i++)
        if (path_largest(advice->spaces[i].path) > path_largest(largest->path))
            largest = &advice->spaces[i];
    return log_error(STATUS_USAGE, "no path can make these lookups: %s", largest->reason);
}

/* The facts of the lookups, by the space whose lookup takes the fewest instructions. */
static struct advised_facts facts_of(const struct advice *advice)
{
    const struct advised_space *fewest = advice->spaces;
    double loads;

    for (const struct advised_space *space = advice->spaces; space < advice->spaces + advice->count;
         space++)
        if (fewest->path->copies > 1 ||
            (space->path->copies <= 1 &&
             payload_pieces(&space->cell) < payload_pieces(&fewest->cell)))
            fewest = space;
    loads = (double)fewest->access.payload_loads;
    return (struct advised_facts){true,
                                  (double)fewest->access.addresses / loads,
                                  (double)fewest->access.lines / loads,
                                  (double)fewest->access.sectors / loads,
                                  (double)fewest->access.wavefronts / loads,
                                  fewest->access.footprint_bytes};
}

enum status advise_open(const struct plan *plan, const struct card *card,
                        struct index_list *indices, const char *indices_path,
                        const struct measured *measured, struct advice *out)
{
    struct access_counts *counts = calloc(plan->count + 1, sizeof(*counts));
    enum status status = STATUS_OK;

    *out = (struct advice){.card = *card, .cell = plan->cells[0], .indices_path = indices_path};
    out->spaces = calloc(plan->count + 1, sizeof(*out->spaces));
    if (!counts || !out->spaces) {
        status = log_memory("the counts of %zu paths", plan->count);
        goto out;
    }
    status = add_spaces(out, plan, indices, counts);
    if (status != STATUS_OK)
        goto out;
    if (out->count == 0) {
        status = refuse_lookups(out);
        goto out;
    }
    sort(out);
    out->facts = facts_of(out);
    if (measured)
        near_find(measured, &out->cell, &out->facts, &out->near);
    near_judge(out);
    answer(out);
    status = finish(out);
out:
    free(counts);
    if (status != STATUS_OK)
        advise_close(out);
    return status;
}

/* -- what was measured ------------------------------------------------------------------------- */

static struct advised_space *space_of_path(struct advice *advice, const struct path *path)
{
    for (size_t i = 0; i < advice->count; i++)
        if (advice->spaces[i].path == path)
            return &advice->spaces[i];
    return NULL;
}

static void take_rank(struct advised_space *space, const struct rank *rank)
{
    static const enum advise_standing standings[RANK_VERDICTS] =
        {[RANK_NONE] = ADVISE_UNKNOWN,        [RANK_FASTEST] = ADVISE_FIRST,
         [RANK_AS_FAST] = ADVISE_ALIKE_FIRST, [RANK_TOO_CLOSE] = ADVISE_TOO_CLOSE,
         [RANK_SLOWER] = ADVISE_SLOWER,       [RANK_SLOWER_ON_AVERAGE] = ADVISE_SLOWER_ON_AVERAGE};
    const struct cell_result *found = rank->row.found;

    if (!rank->timed) {
        text_join(space->why, sizeof(space->why), "; ", "%s", cell_status_names[found->status]);
        if (found->reason[0])
            text_join(space->why, sizeof(space->why), ": ", "%s", found->reason);
        return;
    }
    space->time_ns = found->time.summary.value;
    space->ci_low = found->time.summary.ci_low;
    space->ci_high = found->time.summary.ci_high;
    space->half_width = rank->row.half_width;
    space->ratio = rank->ratio.value;
    space->standing = standings[rank->verdict];
    if (rank->row.note[0])
        text_join(space->why, sizeof(space->why), "; ", "%s", rank->row.note);
    if (rank->why[0])
        text_join(space->why, sizeof(space->why), "; ", "%s", rank->why);
}

enum status advise_take(struct advice *advice, const struct ranking *ranking)
{
    snprintf(advice->device, sizeof(advice->device), "%s", ranking->result->device.name);
    advice->near = (struct near_lookups){.count = 0};
    advice->choice = NULL;
    advice->why = "nothing was measured and verified";
    for (size_t i = 0; i < advice->count; i++) {
        advice->spaces[i].near = (struct near_space){.count = 0};
        advice->spaces[i].standing = ADVISE_UNKNOWN;
    }
    for (size_t i = 0; i < ranking->count; i++) {
        const struct rank *rank = &ranking->ranks[i];
        struct advised_space *space = space_of_path(advice, rank->row.cell->path);

        if (!space)
            continue;
        take_rank(space, rank);
        if (space->standing != ADVISE_FIRST)
            continue;
        advice->choice = space->path->name;
        advice->why = NULL;
    }
    sort(advice);
    return finish(advice);
}

void advise_close(struct advice *advice)
{
    free(advice->spaces);
    free(advice->measure);
    *advice = (struct advice){0};
}
