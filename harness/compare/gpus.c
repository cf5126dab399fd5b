/* SPDX-License-Identifier: MIT */
#include "gpus.h"

#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "memory.h"

static bool is_of(const struct side *side, const struct device_info *device)
{
    return strcmp(side->identity.device.uuid, device->uuid) == 0 &&
           strcmp(side->identity.device.name, device->name) == 0;
}

static struct side *find_gpu(const struct gpu_sides *sides, const struct device_info *device)
{
    for (size_t i = 0; i < sides->count; i++)
        if (is_of(&sides->sides[i], device))
            return &sides->sides[i];
    return NULL;
}

static enum status take(void *context, const char *path, const struct result *result)
{
    struct gpu_sides *sides = context;
    struct side *side = find_gpu(sides, &result->device);

    if (!side) {
        if (!memory_grow(&sides->sides, sides->count, sizeof(*sides->sides)))
            return log_memory("%s", path);
        side = &sides->sides[sides->count++];
        *side = (struct side){0};
    }
    return side_take(side, path, result);
}

enum status gpu_sides_add(struct gpu_sides *sides, const char *path)
{
    const enum status status = results_read(path, take, sides);
    struct side total = {0};

    for (size_t i = 0; i < sides->count; i++)
        side_sum(&total, &sides->sides[i]);
    sides->total = total;
    return status;
}

void gpu_sides_close(struct gpu_sides *sides)
{
    for (size_t i = 0; i < sides->count; i++)
        side_close(&sides->sides[i]);
    free(sides->sides);
    *sides = (struct gpu_sides){0};
}

/* -- pairs --------------------------------------------------------------------------------------------- */

static bool may_uuid_differ(const struct compare_options *options)
{
    for (size_t i = 0; options->allowed && i < options->allowed->count; i++)
        if (strcmp(((const struct facet *)options->allowed->rows[i])->name, "uuid") == 0)
            return true;
    return false;
}

/* Finds the pairs, of which there is room for one a GPU; returns how many. */
static size_t find_pairs(const struct gpu_sides sides[SIDES], const struct side *(*pairs)[SIDES])
{
    static const struct side none = {0};
    size_t count = 0;

    for (size_t i = 0; i < sides[BASE].count; i++) {
        const struct side *base = &sides[BASE].sides[i], *other = find_gpu(&sides[NEW], &base->identity.device);

        pairs[count][BASE] = base;
        pairs[count++][NEW] = other ? other : &none;
    }
    for (size_t i = 0; i < sides[NEW].count; i++)
        if (!find_gpu(&sides[BASE], &sides[NEW].sides[i].identity.device)) {
            pairs[count][BASE] = &none;
            pairs[count++][NEW] = &sides[NEW].sides[i];
        }
    return count;
}

enum status gpu_sides_compare(const struct gpu_sides sides[SIDES], const struct compare_options *options,
                              struct comparison *out)
{
    const struct side *const totals[SIDES] = {&sides[BASE].total, &sides[NEW].total};
    const struct side *(*pairs)[SIDES];
    enum status status;

    *out = (struct comparison){0};
    if (sides[BASE].count == 1 && sides[NEW].count == 1) {
        snprintf(sides[BASE].sides->label, sizeof(sides[BASE].sides->label), "%s", totals[BASE]->label);
        snprintf(sides[NEW].sides->label, sizeof(sides[NEW].sides->label), "%s", totals[NEW]->label);
        return compare_sides(sides[BASE].sides, sides[NEW].sides, options, out);
    }
    if (may_uuid_differ(options))
        return log_error(
            STATUS_USAGE,
            "--allow-diff uuid compares one GPU with another, and BASE has %zu, NEW %zu; name results of one "
            "on each side, or leave it out: then each GPU is compared with itself",
            sides[BASE].count, sides[NEW].count);
    pairs = calloc(sides[BASE].count + sides[NEW].count + 1, sizeof(*pairs));
    if (!pairs)
        return log_memory("a comparison");
    status = compare_gpus(totals, (const struct side *const(*)[SIDES])pairs, find_pairs(sides, pairs), options, out);
    free(pairs);
    return status;
}
