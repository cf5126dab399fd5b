/* SPDX-License-Identifier: MIT
 * Values of a grid's cells, and how people see them. The formats are files of their own. A column
 * of plain members is data: grid_member says where a member lies, and behind which pointer of the
 * row.
 */
#include "grid.h"

#include <math.h>
#include <string.h>

#include "optional.h"
#include "text_print.h"

const void *grid_row(const struct grid *grid, size_t row)
{
    return (const char *)grid->rows + row * grid->row_bytes;
}

void grid_value_at(const struct grid *grid, size_t row, const struct grid_column *column,
                   struct grid_value *out)
{
    out->number = NAN;
    out->text = NULL;
    out->style = GRID_PLAIN;
    column->value(column, grid_row(grid, row), out);
}

const char *grid_shown(const struct grid_column *column, const struct grid_value *value,
                       char room[TEXT_NUMBER_BYTES])
{
    if (value->text)
        return value->text;
    if (!column->format || !isfinite(value->number))
        return "-";
    column->format(value->number, room);
    return room;
}

/* -- values that are members ------------------------------------------------------------------- */

const void *grid_member_at(const struct grid_column *column, const void *row)
{
    const struct grid_member *member = column->member;
    const char *base = member->pointer == SIZE_MAX
                           ? row
                           : *(const void *const *)((const char *)row + member->pointer);

    if (!base || (member->given > 0 && !*(const bool *)(base + member->given)))
        return NULL;
    return base + member->offset;
}

void grid_number(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const double *number = grid_member_at(column, row);

    out->number = number ? *number : NAN;
}

void grid_integer(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const void *integer = grid_member_at(column, row);
    const bool small = column->member->bytes == sizeof(uint32_t);
    const uint64_t value = !integer ? 0
                           : small  ? *(const uint32_t *)integer
                                    : *(const uint64_t *)integer;

    out->number = value ? (double)value : NAN;
}

void grid_optional(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const struct optional *integer = grid_member_at(column, row);

    out->number = integer ? optional_number(*integer) : NAN;
}

void grid_bool(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const bool *value = grid_member_at(column, row);

    out->text = !value ? NULL : *value ? "true" : "false";
}

void grid_name(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const int *value = grid_member_at(column, row);

    out->text = value ? column->member->names[*value] : NULL;
}

void grid_bits(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const struct grid_member *member = column->member;
    const uint32_t *bits = grid_member_at(column, row);

    out->room[0] = '\0';
    for (size_t i = 0; bits && i < member->name_count; i++)
        if (*bits >> i & 1)
            text_join(out->room, sizeof(out->room), " ", "%s", member->names[i]);
    out->text = out->room[0] ? out->room : NULL;
}

void grid_row_name(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const char *const *const *named = grid_member_at(column, row);

    out->text = named && *named ? **named : NULL;
}

void grid_text(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const char *const *text = grid_member_at(column, row);

    out->text = text ? *text : NULL;
}

void grid_array(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const char *text = grid_member_at(column, row);

    out->text = text && text[0] ? text : NULL;
}
