/* SPDX-License-Identifier: MIT
 * What reports say of the GPUs of a comparison. */
#include <stdio.h>
#include <string.h>

#include "compare_report.h"
#include "text.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* "2 regressed, 22 same", worst first. */
static void counts_text(const struct compared_gpu *gpu, char *out, size_t bytes)
{
    out[0] = '\0';
    for (int gravity = (int)verdict_count; gravity >= 0; gravity--)
        for (size_t i = 0; i < verdict_count; i++)
            if (verdict_rows[i].gravity == gravity && gpu->counts[i] > 0)
                text_join(out, bytes, ", ", "%zu %s", gpu->counts[i], verdict_rows[i].name);
}

void gpu_line(const struct compared_gpu *gpu, char line[LINE_BYTES])
{
    const struct side_identity *identity = gpu_identity(gpu);
    char counts[256];

    counts_text(gpu, counts, sizeof(counts));
    snprintf(line, LINE_BYTES, "%s", verdict_rows[gpu->verdict].name);
    if (identity->host.name[0])
        text_join(line, LINE_BYTES, "", " on %s", identity->host.name);
    if (identity->host.slot[0])
        text_join(line, LINE_BYTES, "", " in %s", identity->host.slot);
    text_join(line, LINE_BYTES, "", ": %s", counts);
    if (gpu->note[0])
        text_join(line, LINE_BYTES, "", "; %s", gpu->note);
}

/* -- the grid ------------------------------------------------------------------------------------------ */

static const struct compared_gpu *gpu_at(const void *row)
{
    return row;
}

static void value_uuid(const struct grid_column *column, const void *row, struct grid_value *out)
{
    (void)column;
    value_short_uuid(gpu_identity(gpu_at(row))->device.uuid, out);
}

/* A text of the GPU's identity, whose offset the column has. */
static void value_identity(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const char *text = (const char *)gpu_identity(gpu_at(row)) + *(const size_t *)column->of;

    out->text = *text ? text : NULL;
}

static void value_driver(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const char *base = gpu_at(row)->sides[BASE]->identity.device.driver;
    const char *driver = gpu_at(row)->sides[NEW]->identity.device.driver;

    (void)column;
    if (*base && *driver && strcmp(base, driver) != 0)
        snprintf(out->room, sizeof(out->room), "%s -> %s", base, driver);
    else
        snprintf(out->room, sizeof(out->room), "%s", *base ? base : driver);
    out->text = out->room[0] ? out->room : NULL;
}

static void value_verdict(const struct grid_column *column, const void *row, struct grid_value *out)
{
    (void)column;
    out->text = verdict_rows[gpu_at(row)->verdict].name;
    out->style = verdict_rows[gpu_at(row)->verdict].style;
}

static void value_counts(const struct grid_column *column, const void *row, struct grid_value *out)
{
    (void)column;
    counts_text(gpu_at(row), out->room, sizeof(out->room));
    out->text = out->room;
}

static bool gpu_note(const void *row, size_t index, char *out, size_t bytes)
{
    const struct compared_gpu *gpu = gpu_at(row);

    if (gpu->note[0] && index-- == 0) {
        snprintf(out, bytes, "%s", gpu->note);
        return true;
    }
    for (size_t i = 0; i < gpu->difference_count; i++)
        if (!gpu->differences[i].allowed && index-- == 0) {
            snprintf(out, bytes, "not comparable: %s differs", gpu->differences[i].facet->name);
            return true;
        }
    return false;
}

#define IDENTITY(member)                           \
    .value = value_identity, .of = &(const size_t) \
    {                                              \
        offsetof(struct side_identity, member)     \
    }

static const struct grid_column columns[] = {
    {.heading = "GPU", .value = value_uuid, .head = true},
    {.heading = "host", IDENTITY(host.name), .head = true},
    {.heading = "slot", IDENTITY(host.slot)},
    {.heading = "model", IDENTITY(device.name), .rank = 2},
    {.heading = "driver", .value = value_driver, .rank = 1},
    {.heading = "verdict", .value = value_verdict},
    {.heading = "cells", .value = value_counts},
};

struct grid comparison_gpu_grid(const struct comparison *comparison, bool others)
{
    return (struct grid){
        .columns = columns,
        .column_count = COUNT(columns),
        .rows = comparison->gpus,
        .row_count = comparison->gpu_count - (others ? comparison_gpus(comparison, VERDICT_SAME) : 0),
        .row_bytes = sizeof(*comparison->gpus),
        .note = gpu_note,
    };
}
