/* SPDX-License-Identifier: MIT
 * Where a table should live, by the simple time of every memory space that can hold it, for the
 * pattern or the loads that were asked about. */
#include "advise.h"

#include <math.h>
#include <stdlib.h>

#include "image.h"
#include "log.h"

const char *const advise_standing_names[ADVISE_STANDING_COUNT] = {
    [ADVISE_FIRST] = "best",
    [ADVISE_ALIKE_FIRST] = "as good",
    [ADVISE_TOO_CLOSE] = "too close to call",
    [ADVISE_SLOWER] = "slower",
    [ADVISE_UNKNOWN] = "not known",
};

/* Spaces by their times; equal times stay in the order of paths.def. A lower bound does not rank:
 * those spaces come after all times. */
static int compare_spaces(const void *left, const void *right)
{
    const struct advised_space *a = left, *b = right;
    const bool a_known = !isnan(a->estimate.time_ns.value),
               b_known = !isnan(b->estimate.time_ns.value);
    const double a_ns = a_known ? a->estimate.time_ns.value : a->estimate.time_ns.low,
                 b_ns = b_known ? b->estimate.time_ns.value : b->estimate.time_ns.low;

    if (!a->reason[0] != !b->reason[0])
        return a->reason[0] ? 1 : -1;
    if (a_known != b_known)
        return b_known - a_known;
    return a_ns != b_ns ? (a_ns > b_ns) - (a_ns < b_ns) : (a->path > b->path) - (a->path < b->path);
}

void advise_rank(struct advice *advice)
{
    const struct advised_space *first = advice->spaces;

    qsort(advice->spaces, advice->count + advice->excluded, sizeof(*advice->spaces),
          compare_spaces);
    for (struct advised_space *space = advice->spaces; space < advice->spaces + advice->count;
         space++) {
        space->relative = space->estimate.time_ns.value / first->estimate.time_ns.value;
        space->standing = isnan(space->relative)                ? ADVISE_UNKNOWN
                          : space == first                      ? ADVISE_FIRST
                          : space->relative <= 1 + ADVISE_EQUAL ? ADVISE_ALIKE_FIRST
                          : space->estimate.time_ns.low > first->estimate.time_ns.high
                              ? ADVISE_SLOWER
                              : ADVISE_TOO_CLOSE;
    }
}

static const struct cell *space_cell(const void *rows, size_t index)
{
    return &((const struct advised_space *)rows)[index].cell;
}

/* Counts a cell and estimates its time with the card, and with the kernel's code for its chip if
 * the program has it. */
static enum status fill_space(struct advice *advice, size_t index, struct index_list *indices,
                              struct access_counts *counts)
{
    const struct card *card = &advice->card;
    struct advised_space *space = &advice->spaces[index];
    const struct time_range *time = &space->estimate.time_ns;
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
    estimate_time(&space->cell, &space->access, card, &kernel, &space->estimate);
    space->requests_per_load = access_requests_per_load(&space->cell, &space->access);
    space->bound = time_units[space->estimate.longest].name;
    snprintf(space->interval, sizeof(space->interval),
             isinf(time->high) ? "%s or more" : "%s to %s", text_of(text_time, time->low).text,
             text_of(text_time, time->high).text);
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

        if (!plan->cells[i].path->loads)
            continue;
        *space = (struct advised_space){.path = plan->cells[i].path, .cell = plan->cells[i]};
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
                        struct index_list *indices, const char *indices_path, struct advice *out)
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
    advise_rank(out);
    if (out->spaces->standing == ADVISE_FIRST)
        out->choice = out->spaces->path->name;
    out->facts = facts_of(out);
    out->measure = advise_run_command(out);
    status = out->measure ? STATUS_OK : log_memory("a command");
out:
    free(counts);
    if (status != STATUS_OK)
        advise_close(out);
    return status;
}

void advise_close(struct advice *advice)
{
    free(advice->spaces);
    free(advice->measure);
    *advice = (struct advice){0};
}
