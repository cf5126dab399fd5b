/* SPDX-License-Identifier: MIT
 * A grid as JSON: an array of objects. */
#include <string.h>

#include "grid.h"

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

static enum status print_json(FILE *stream, const struct grid *grid)
{
    return json_put_owned(stream, grid_to_json(grid));
}

const struct grid_format grid_json = {.name = "json", .print = print_json};
