/* SPDX-License-Identifier: MIT
 * Puts the small arrays that became compares together, and prints them. */
#include "code_arrays.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "advise.h"
#include "log.h"
#include "text.h"

/* An array of a kernel, to be sorted. */
struct item {
    const struct compared_array *array;
    size_t group, kernel;
};

/* Whether two are of one line and size, in one template: 0. */
static int compare_arrays(const struct item *a, const struct item *b)
{
    const struct compared_array *x = a->array, *y = b->array;
    int order;

    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    order = strcmp(x->file, y->file);
    if (order == 0 && x->line.value != y->line.value)
        order = x->line.value < y->line.value ? -1 : 1;
    if (order == 0)
        order = strcmp(x->memory, y->memory);
    if (order == 0)
        order = strcmp(x->table, y->table);
    if (order == 0 && x->entries != y->entries)
        order = x->entries < y->entries ? -1 : 1;
    if (order == 0 && x->width_bytes != y->width_bytes)
        order = x->width_bytes < y->width_bytes ? -1 : 1;
    return order;
}

static int compare_items(const void *left, const void *right)
{
    const struct item *a = left, *b = right;
    const int order = compare_arrays(a, b);

    if (order != 0)
        return order;
    if (a->kernel != b->kernel)
        return a->kernel < b->kernel ? -1 : 1;
    return (a->array > b->array) - (a->array < b->array);
}

/* Makes the rows of sorted items. `out` has room for all. */
static void merge_items(const struct item *items, size_t count, struct compared_rows *out)
{
    size_t first = 0; /* kernel of the row */

    for (size_t i = 0; i < count; i++) {
        const struct item *item = &items[i];
        struct compared_row *row = &out->rows[out->count - (out->count > 0)];
        const bool same = i > 0 && compare_arrays(item - 1, item) == 0;

        if (!same) {
            out->rows[out->count++] = (struct compared_row){item->array, item->group, 1, 1};
            first = item->kernel;
            continue;
        }
        row->kernels += item->kernel != item[-1].kernel;
        row->places += item->kernel == first;
    }
}

enum status compared_rows_open(const struct user_code *code, const struct kernel_groups *groups,
                               struct compared_rows *out)
{
    struct item *items;
    size_t count = 0;

    *out = (struct compared_rows){0};
    for (size_t k = 0; k < code->count; k++)
        count += code->kernels[k].compared_count;
    items = calloc(count + 1, sizeof(*items));
    out->rows = calloc(count + 1, sizeof(*out->rows));
    if (!items || !out->rows) {
        free(items);
        compared_rows_close(out);
        return log_memory("the arrays of %s", code->path);
    }
    count = 0;
    for (size_t g = 0; g < groups->count; g++)
        for (size_t m = 0; m < groups->groups[g].count; m++) {
            const size_t k = groups->members[groups->groups[g].first + m];

            for (size_t i = 0; i < code->kernels[k].compared_count; i++)
                items[count++] = (struct item){&code->kernels[k].compared[i], g, k};
        }
    qsort(items, count, sizeof(*items), compare_items);
    merge_items(items, count, out);
    free(items);
    return STATUS_OK;
}

void compared_rows_print(FILE *stream, const struct compared_rows *rows,
                         const struct kernel_groups *groups, size_t most,
                         const struct print_style *look)
{
    if (rows->count == 0)
        return;
    fputc('\n', stream);
    advise_put(stream, look,
               "compares instead of loads: an index is compared with the place of each entry, as "
               "compilers do with small arrays. static const or __constant__ makes one of the code "
               "a load, const __grid_constant__ one of the parameters");
    for (size_t i = 0; i < rows->count && i < most; i++) {
        const struct compared_row *row = &rows->rows[i];
        const struct compared_array *array = row->array;
        char line[512];

        snprintf(line, sizeof(line), "%" PRIu32 " entries of %" PRIu32 " bytes %s%s",
                 array->entries, array->width_bytes, array->table[0] ? "of " : "in the ",
                 array->table[0]                      ? array->table
                 : strcmp(array->memory, "code") == 0 ? "code"
                                                      : "parameters");
        if (array->line.known)
            text_join(line, sizeof(line), ", ", array->file[0] ? "%s:%" PRIu64 : "%sline %" PRIu64,
                      array->file, array->line.value);
        if (row->places > 1)
            text_join(line, sizeof(line), ", ", "in %zu places", row->places);
        if (row->kernels > 1)
            text_join(line, sizeof(line), "; ", "in %zu kernels of %s", row->kernels,
                      groups->groups[row->group].name);
        else if (groups->count > 1)
            text_join(line, sizeof(line), "; ", "in %s", groups->groups[row->group].name);
        advise_put(stream, look, "  %s", line);
    }
    if (rows->count > most)
        advise_put(stream, look, "  and %zu more, which --all-loads prints", rows->count - most);
}

void compared_rows_close(struct compared_rows *rows)
{
    free(rows->rows);
    *rows = (struct compared_rows){0};
}
