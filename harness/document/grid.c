/* SPDX-License-Identifier: MIT
 * Values of a grid's cells, and the grid as CSV and JSON: the formats for programs. Text for people
 * is grid_text.c. A column of plain members is data: grid_member says where a member lies, and
 * behind which pointer of the row. */
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

static const void *member_at(const struct grid_column *column, const void *row)
{
    const struct grid_member *member = column->of;
    const void *base = member->pointer == SIZE_MAX
                           ? row
                           : *(const void *const *)((const char *)row + member->pointer);

    return base ? (const char *)base + member->offset : NULL;
}

void grid_number(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const double *number = member_at(column, row);

    out->number = number ? *number : NAN;
}

void grid_integer(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const void *integer = member_at(column, row);
    const bool small = ((const struct grid_member *)column->of)->bytes == sizeof(uint32_t);
    const uint64_t value = !integer ? 0
                           : small  ? *(const uint32_t *)integer
                                    : *(const uint64_t *)integer;

    out->number = value ? (double)value : NAN;
}

void grid_optional(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const struct optional *integer = member_at(column, row);

    out->number = integer ? optional_number(*integer) : NAN;
}

void grid_bool(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const bool *value = member_at(column, row);

    out->text = !value ? NULL : *value ? "true" : "false";
}

void grid_name(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const int *value = member_at(column, row);

    out->text = value ? ((const struct grid_member *)column->of)->names[*value] : NULL;
}

void grid_text(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const char *const *text = member_at(column, row);

    out->text = text ? *text : NULL;
}

void grid_array(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const char *text = member_at(column, row);

    out->text = text && text[0] ? text : NULL;
}

/* -- other formats ----------------------------------------------------------------------------- */

void grid_print_csv(FILE *stream, const struct grid *grid)
{
    struct grid_value value;

    for (size_t c = 0; c < grid->column_count && !grid->continued; c++) {
        fputs(c ? "," : "", stream);
        text_csv(stream, grid->columns[c].key);
    }
    if (!grid->continued)
        fputs("\r\n", stream);
    for (size_t r = 0; r < grid->row_count; r++) {
        for (size_t c = 0; c < grid->column_count; c++) {
            grid_value_at(grid, r, &grid->columns[c], &value);
            fputs(c ? "," : "", stream);
            if (grid->columns[c].format && isfinite(value.number))
                fprintf(stream, "%.17g", value.number);
            else if (!grid->columns[c].format)
                text_csv(stream, value.text ? value.text : "");
        }
        fputs("\r\n", stream);
    }
}

cJSON *grid_to_json(const struct grid *grid)
{
    cJSON *array = cJSON_CreateArray();
    struct grid_value value;

    for (size_t r = 0; r < grid->row_count; r++) {
        cJSON *object = json_append(array, cJSON_CreateObject());

        for (size_t c = 0; c < grid->column_count; c++) {
            const struct grid_column *column = &grid->columns[c];

            grid_value_at(grid, r, column, &value);
            if (column->format)
                json_add_double(object, column->key, value.number);
            else if (column->value == grid_bool && value.text)
                json_add(object, column->key, cJSON_CreateBool(strcmp(value.text, "true") == 0));
            else
                json_add_text(object, column->key, value.text);
        }
    }
    return array;
}
