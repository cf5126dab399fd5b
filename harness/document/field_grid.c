/* SPDX-License-Identifier: MIT
 * Grids of structs whose fields have columns: a value's row gives its key in JSON and its column of
 * text. */
#include <assert.h>

#include "field.h"

struct grid_column field_grid_column(const struct field *field, struct grid_member *member)
{
    const struct field_column *column = field->column;
    const bool named = field->kind == &field_name || field->kind == &field_bits;

    *member = (struct grid_member){
        .offset = field->offset,
        .bytes = field->bytes,
        .pointer = SIZE_MAX,
        .names = named ? field->names->names : NULL,
        .name_count = named ? field->names->count : 0,
    };
    return (struct grid_column){
        .key = column->key ? column->key : field->key,
        .heading = column->heading,
        .format = column->format,
        .value = field->kind->value,
        .member = member,
        .rank = column->rank,
        .head = column->head,
        .below = column->below,
    };
}

struct grid field_grid(const struct objects *list, const void *elements, size_t count,
                       struct field_columns *out)
{
    size_t made = 0;

    for (size_t i = 0; i < list->fields.count; i++) {
        const struct field *field = &list->fields.rows[i];

        if (!field->column || !field->column->heading)
            continue;
        assert(made < FIELD_COLUMNS_MAX);
        out->columns[made] = field_grid_column(field, &out->members[made]);
        made++;
    }
    return (struct grid){.columns = out->columns,
                         .column_count = made,
                         .rows = elements,
                         .row_count = count,
                         .row_bytes = list->element_bytes};
}
