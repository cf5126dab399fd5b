/* SPDX-License-Identifier: MIT */
#include "index_list.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "source.h"

/* Of all sources: results of any time and place are of the same indices. */
static const uint64_t index_seed = 1;

static struct index_array *list_add(struct index_list *list, const struct index_array *array)
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

/* -- files --------------------------------------------------------------------------------------------- */

/* The first 64 bits of the hash; never 0, which stands for no file. */
static uint64_t trace_of(const char sha256[SHA256_HEX_BYTES])
{
    char digits[17];
    uint64_t trace;

    memcpy(digits, sha256, sizeof(digits) - 1);
    digits[sizeof(digits) - 1] = '\0';
    trace = strtoull(digits, NULL, 16);
    return trace ? trace : 1;
}

enum status index_list_map(struct index_list *list, const char *path, const struct index_array **out)
{
    struct index_array array = {.path = path};
    enum status status;

    for (*out = list->first; *out; *out = (*out)->next)
        if ((*out)->path && strcmp((*out)->path, path) == 0)
            return STATUS_OK;
    status = npy_open(path, &array.file);
    if (status != STATUS_OK)
        return status;
    array.indices = (struct indices){array.file.array.values, array.file.array.bytes, array.file.array.is_signed,
                                     array.file.array.count};
    array.rows = array.file.array.dimensions > 1 ? array.file.array.shape[0] : 1;
    array.elements = array.indices.count / array.rows;
    array.highest = indices_highest(&array.indices);
    sha256_hex(array.file.mapping, array.file.bytes, array.sha256);
    array.trace = trace_of(array.sha256);
    *out = list_add(list, &array);
    if (!*out)
        npy_close(&array.file);
    return *out ? STATUS_OK : STATUS_ENVIRONMENT;
}

/* What a file says that a cell's table has no entry for. */
static enum status check_entries(const struct index_array *array, uint32_t length)
{
    uint64_t place;
    int64_t index;
    bool negative;

    if (array->highest < length)
        return STATUS_OK;
    place = indices_first_beyond(&array->indices, length);
    index = indices_at(&array->indices, place);
    negative = array->indices.is_signed && index < 0;
    return log_error(STATUS_USAGE,
                     "%s: index %s%" PRIu64 " at [%" PRIu64 "][%" PRIu64 "] is beyond a table of %" PRIu32
                     " entries; name a larger --table-bytes, narrower entries, or paths whose table has room",
                     array->path, negative ? "-" : "", negative ? -(uint64_t)index : (uint64_t)index,
                     place / array->elements, place % array->elements, length);
}

/* -- sources ------------------------------------------------------------------------------------------- */

/* The parameters of what makes the indices; others matter to the loads alone. */
static bool same_indices(const struct index_array *array, const struct cell *cell)
{
    const uint32_t *a = array->like.parameters, *b = cell->parameters;

    if (array->path || array->like.pattern != cell->pattern || array->like.elements != cell->elements ||
        array->length != table_entries(cell->path, b) || a[PARAMETER_loads] != b[PARAMETER_loads] ||
        a[PARAMETER_table_count] != b[PARAMETER_table_count])
        return false;
    for (size_t i = 0; i < parameter_count; i++)
        if (cell->pattern->takes >> i & 1 && a[i] != b[i])
            return false;
    return true;
}

/* Of several tables, which lie one behind the other, each step's lookups are of the next. */
static void choose_tables(const struct cell *cell, const struct source_numbers *numbers, uint32_t *index)
{
    const uint32_t tables = table_count(cell->parameters);

    for (uint32_t step = 1; tables > 1 && step < numbers->steps; step++)
        for (uint64_t i = 0; i < numbers->elements; i++)
            index[step * numbers->elements + i] += step % tables * numbers->length;
}

static enum status make_array(struct index_list *list, const struct cell *cell, const struct index_array **out)
{
    const struct source_numbers numbers = {.elements = cell->elements,
                                           .steps = cell->parameters[PARAMETER_loads],
                                           .length = table_entries(cell->path, cell->parameters),
                                           .seed = index_seed,
                                           .parameters = cell->parameters};
    const uint64_t count = numbers.steps * numbers.elements;
    struct index_array array = {.like = *cell, .length = numbers.length, .made = malloc(count * sizeof(*array.made))};

    if (!array.made || !source_make(cell->pattern, &numbers, array.made)) {
        free(array.made);
        return log_memory("%" PRIu64 " indices", count);
    }
    choose_tables(cell, &numbers, array.made);
    array.indices = (struct indices){array.made, sizeof(*array.made), 0, count};
    if (!list->unhashed)
        sha256_hex(array.made, count * sizeof(*array.made), array.sha256);
    *out = list_add(list, &array);
    if (!*out)
        free(array.made);
    return *out ? STATUS_OK : STATUS_ENVIRONMENT;
}

enum status index_list_give(struct index_list *list, struct cell *cell, const struct index_array **out)
{
    enum status status = STATUS_OK;

    *out = NULL;
    if (cell->workload->index != INDEX_LOADED)
        return STATUS_OK;
    for (*out = list->first; *out; *out = (*out)->next)
        if (cell->trace ? (*out)->trace == cell->trace : same_indices(*out, cell))
            break;
    if (!*out && cell->trace)
        return log_error(STATUS_USAGE, "no file has the indices of hash %016" PRIx64, cell->trace);
    if (!*out)
        status = make_array(list, cell, out);
    else if ((*out)->path)
        status = check_entries(*out, cell_length(cell));
    if (status == STATUS_OK)
        cell->indices = &(*out)->indices;
    return status;
}

void index_list_close(struct index_list *list)
{
    for (struct index_array *array = list->first, *next; array; array = next) {
        next = array->next;
        npy_close(&array->file);
        free(array->made);
        free(array);
    }
    *list = (struct index_list){0};
}
