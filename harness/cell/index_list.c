/* SPDX-License-Identifier: MIT
 * Arrays of indices that cells share. They are wanted first, when cells are known, and made later,
 * all of them at once on all processors. The parameters that change indices decide whether two
 * cells read the same. */
#include "index_list.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "child.h"
#include "log.h"
#include "parallel.h"
#include "parameter_index.h"
#include "source.h"

/* One seed for all sources, so that all results use the same indices. */
static const uint64_t index_seed = 1;

/* Of parameters whose values change the indices. */
static const uint32_t change_indices = READER_SOURCE | READER_INDICES;

struct index_array *index_list_add(struct index_list *list, const struct index_array *array)
{
    struct index_array *added = malloc(sizeof(*added));

    if (!added) {
        log_memory("the indices of lookups");
        return NULL;
    }
    *added = *array;
    added->next = list->first;
    list->first = added;
    return added;
}

/* Of its file, or made from the same values of the parameters that change indices. */
const struct index_array *index_list_find(const struct index_list *list, const struct cell *cell)
{
    const uint32_t *b = cell->parameters;
    const struct index_array *array = list->first;

    if (cell->workload->index != INDEX_LOADED)
        return NULL;
    for (; array; array = array->next) {
        const uint32_t *a = array->like.parameters;
        bool same = !array->path && array->like.pattern == cell->pattern &&
                    array->like.elements == cell->elements &&
                    array->length == table_entries(cell->path, b);

        for (size_t i = 0; i < parameter_count; i++)
            same = same && (!(parameters[i].readers & change_indices) || a[i] == b[i]);
        if (cell->index_file_hash ? array->index_file_hash == cell->index_file_hash : same)
            break;
    }
    return array;
}

enum status index_list_want(struct index_list *list, const struct cell *cell)
{
    struct index_array array = {.like = *cell};

    if (cell->workload->index != INDEX_LOADED || cell_reads_file(cell) ||
        index_list_find(list, cell))
        return STATUS_OK;
    /* A plan has no such cell, but a file that was changed may. */
    if (cell->elements * cell->parameters[PARAMETER_loads] > CELL_INDICES_MAX)
        return log_error(STATUS_USAGE,
                         "a cell of %" PRIu64 " elements has more than the %" PRIu64
                         " indices of the largest one",
                         cell->elements, CELL_INDICES_MAX);
    array.length = table_entries(cell->path, cell->parameters);
    return index_list_add(list, &array) ? STATUS_OK : STATUS_ENVIRONMENT;
}

static bool is_wanted(const struct index_array *array)
{
    return !array->path && !array->made && !array->released;
}

/* Makes `count` arrays of the list, from number `first` on. Without memory, and after an
 * interrupt, an array stays wanted. */
static void make_range(void *context, uint64_t first, uint64_t count)
{
    const struct index_list *list = context;
    struct index_array *array = list->first;

    for (uint64_t number = 0; number < first + count && !interrupted();
         number++, array = array->next) {
        const struct cell *cell = &array->like;
        const struct source_numbers numbers = {.elements = cell->elements,
                                               .steps = cell->parameters[PARAMETER_loads],
                                               .length = array->length,
                                               .seed = index_seed,
                                               .parameters = cell->parameters};
        const uint64_t indices = numbers.steps * numbers.elements;
        const uint32_t tables = table_count(cell->parameters);
        uint32_t *made;

        if (number < first || !is_wanted(array))
            continue;
        made = malloc(indices * sizeof(*made));
        if (!made || !source_make(cell->pattern, &numbers, made)) {
            free(made);
            log_memory("%" PRIu64 " indices", indices);
            continue;
        }
        /* Several tables lie one after the other, and the lookups of each step read the next
         * table. */
        for (uint32_t step = 1; tables > 1 && step < numbers.steps; step++)
            for (uint64_t i = 0; i < numbers.elements; i++)
                made[step * numbers.elements + i] += step % tables * numbers.length;
        if (!list->unhashed)
            sha256_hex(made, indices * sizeof(*made), array->sha256);
        array->indices = (struct indices){made, sizeof(*made), 0, indices};
        array->made = made;
    }
}

enum status index_list_make(struct index_list *list)
{
    uint64_t count = 0;

    for (const struct index_array *array = list->first; array; array = array->next)
        count++;
    parallel_ranges(count, 1, make_range, list);
    for (const struct index_array *array = list->first; array; array = array->next)
        if (is_wanted(array))
            return STATUS_ENVIRONMENT;
    return STATUS_OK;
}

enum status index_list_give(struct index_list *list, struct cell *cell,
                            const struct index_array **out)
{
    enum status status = index_list_want(list, cell);
    uint32_t length;

    *out = NULL;
    if (status != STATUS_OK || cell->workload->index != INDEX_LOADED)
        return status;
    *out = index_list_find(list, cell);
    if (!*out)
        return log_error(STATUS_USAGE, "no file has the indices of hash %016" PRIx64,
                         cell->index_file_hash);
    length = cell_length(cell);
    if ((*out)->path && (*out)->highest >= length) {
        const uint64_t position = indices_first_beyond(&(*out)->indices, length);
        const int64_t index = indices_at(&(*out)->indices, position);
        const bool negative = (*out)->indices.is_signed && index < 0;

        return log_error(STATUS_USAGE,
                         "%s: index %s%" PRIu64 " at [%" PRIu64 "][%" PRIu64
                         "] is beyond a table of %" PRIu32
                         " entries; name a larger --table-bytes, narrower entries, or paths whose "
                         "table has room",
                         (*out)->path, negative ? "-" : "",
                         negative ? -(uint64_t)index : (uint64_t)index, position / (*out)->elements,
                         position % (*out)->elements, length);
    }
    if (is_wanted(*out))
        status = index_list_make(list);
    if (status == STATUS_OK)
        cell->indices = &(*out)->indices;
    return status;
}

void index_list_release(struct index_list *list, const struct index_array *array)
{
    for (struct index_array *own = list->first; own; own = own->next)
        if (own == array && own->made) {
            free(own->made);
            own->made = NULL;
            own->released = true;
        }
}

void index_list_close(struct index_list *list)
{
    for (struct index_array *array = list->first, *next; array; array = next) {
        next = array->next;
        if (array->file)
            munmap(array->file, array->file_bytes);
        free(array->made);
        free(array);
    }
    *list = (struct index_list){0};
}
