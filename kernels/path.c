/* SPDX-License-Identifier: MIT
 * The table of paths, expanded from paths.def, and what follows from a path and the parameters of a
 * cell: width, length and copies of its table. Where a cell names no bytes of a table, it is the
 * largest that the path holds. */
#include "path.h"

#include <string.h>

#include "parameter_index.h"

const struct path paths[] = {
#define PATH(name_, load, ...) {.name = #name_, __VA_ARGS__},
#include "paths.def"
};

const size_t path_count = sizeof(paths) / sizeof(paths[0]);

uint32_t table_width(const uint32_t values[PARAMETERS_MAX])
{
    return parameter_value(values, PARAMETER_width_bytes);
}

uint32_t table_count(const uint32_t values[PARAMETERS_MAX])
{
    return parameter_value(values, PARAMETER_table_count);
}

uint32_t table_bytes(const struct path *path, const uint32_t values[PARAMETERS_MAX])
{
    const uint32_t width = table_width(values);
    const uint64_t most = (uint64_t)path_entries(path) * width;

    if (values[PARAMETER_table_bytes])
        return values[PARAMETER_table_bytes] * table_count(values);
    return most < path->bytes ? (uint32_t)most : path->bytes / width * width;
}

uint32_t table_buffer_set_bytes(uint32_t buffer_set)
{
    enum { STEP_BYTES = 512, STEPS = CBANK_TABLE_BYTES / STEP_BYTES, STEPS_APART = 79 };

    return buffer_set * STEPS_APART % STEPS * STEP_BYTES;
}

uint32_t table_length(const struct path *path, const uint32_t values[PARAMETERS_MAX])
{
    return table_bytes(path, values) / table_width(values);
}

uint32_t table_entries(const struct path *path, const uint32_t values[PARAMETERS_MAX])
{
    return table_length(path, values) / table_count(values);
}

int path_is_small(const struct path *path)
{
    return path->copies > 1 || path_held(path) > 0;
}

uint32_t path_held(const struct path *path)
{
    return path->unit == UNIT_SELECT ? path->bytes / sizeof(uint32_t)
                                     : path->unit == UNIT_REGISTERS;
}

uint32_t path_largest(const struct path *path)
{
    static const uint32_t largest[] = {[UNIT_L1] = CBANK_LARGE_BYTES,
                                       [UNIT_L2] = CBANK_LARGE_BYTES,
                                       [UNIT_TEXTURE] = CBANK_LARGE_BYTES,
                                       [UNIT_SELECT] = 0};

    return largest[path->unit] ? largest[path->unit] : path->bytes;
}

uint32_t path_entries(const struct path *path)
{
    return path->unit == UNIT_REGISTERS ? CBANK_WARP_THREADS : UINT32_MAX;
}

uint32_t table_copies(const struct path *path, const uint32_t values[PARAMETERS_MAX])
{
    uint32_t copies = 1;

    while (copies < path->copies && 2 * copies * table_bytes(path, values) <= CBANK_COPIES_BYTES)
        copies *= 2;
    return copies;
}

void table_add(const void *table, uint32_t width, const uint32_t *index, uint32_t count,
               uint32_t *sum)
{
    for (uint32_t i = 0; i < count; i++) {
        const char *entry = (const char *)table + (size_t)index[i] * width;
        uint32_t words[8] = {0};

        switch (width) { /* copies of a known size are one instruction */
        case 1:
            memcpy(words, entry, 1);
            break;
        case 2:
            memcpy(words, entry, 2);
            break;
        case 4:
            memcpy(words, entry, 4);
            break;
        default:
            memcpy(words, entry, width);
        }
        for (size_t word = 0; word < sizeof(words) / sizeof(words[0]); word++)
            sum[i] += words[word];
    }
}

int table_is_whole(const uint32_t values[PARAMETERS_MAX])
{
    return values[PARAMETER_width_bytes] == 0 && values[PARAMETER_table_bytes] == 0;
}
