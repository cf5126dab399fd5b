/* SPDX-License-Identifier: MIT */
#include "catalogue.h"

#include <math.h>
#include <stdlib.h>

#include "log.h"

void catalogue_close(struct catalogue *catalogue)
{
    for (size_t i = 0; i < catalogue->count; i++)
        free(catalogue->entries[i].found);
    free(catalogue->entries);
    *catalogue = (struct catalogue){0};
}

size_t cell_samples(const struct cell_result *cell, const double **samples)
{
    const struct cell_time *time = &cell->time;
    const bool sampled = time->samples_ns && time->summary.count > 0;

    *samples = sampled ? time->samples_ns : &time->summary.value;
    return sampled ? time->summary.count : isfinite(time->summary.value) ? 1 : 0;
}

/* The cell's entry, which is made where there is none; NULL when out of memory. Results of one plan agree in their
 * order: `guess` is right. */
static struct entry *catalogue_entry(struct catalogue *catalogue, const struct cell *cell, size_t guess)
{
    struct entry *entry = &catalogue->entries[catalogue->count];

    if (guess < catalogue->count && cell_equal(catalogue->entries[guess].cell, cell))
        return &catalogue->entries[guess];
    for (size_t i = 0; i < catalogue->count; i++)
        if (cell_equal(catalogue->entries[i].cell, cell))
            return &catalogue->entries[i];
    *entry =
        (struct entry){.cell = cell, .found = calloc(catalogue->result_count, sizeof(*entry->found)), .skipped = true};
    cell_identity(cell, entry->name);
    catalogue->count += entry->found != NULL;
    return entry->found ? entry : NULL;
}

enum status catalogue_open(const struct result *const *results, size_t count, struct catalogue *out)
{
    size_t room = 1;

    for (size_t r = 0; r < count; r++)
        room += results[r]->cell_count;
    *out =
        (struct catalogue){.results = results, .result_count = count, .entries = calloc(room, sizeof(*out->entries))};
    for (size_t r = 0; r < count; r++)
        for (size_t i = 0; i < results[r]->cell_count; i++) {
            const struct cell_result *cell = &results[r]->cells[i];
            struct entry *entry = out->entries ? catalogue_entry(out, &cell->cell, i) : NULL;
            const double *samples;
            const size_t sampled = cell_samples(cell, &samples);

            if (!entry)
                return log_memory("the cells of %zu results", count);
            entry->found[r] = cell;
            entry->samples += sampled;
            entry->skipped = entry->skipped && cell->status == CELL_SKIPPED;
            out->samples_most = sampled > out->samples_most ? sampled : out->samples_most;
        }
    return STATUS_OK;
}
