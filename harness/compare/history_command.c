/* SPDX-License-Identifier: MIT
 * What the results of a folder say over time: a line a run, or the series of a cell. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "files.h"
#include "log.h"
#include "result.h"

/* A result and the file it is from. */
struct entry {
    const char *path;
    struct result result;
};

static int by_start(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    const int order = strcmp(x->result.started_utc, y->result.started_utc);

    return order ? order : strcmp(x->path, y->path);
}

static const struct cell_result *find_cell(const struct result *result, const struct cell *cell)
{
    for (size_t i = 0; i < result->cell_count; i++)
        if (cell_equal(&result->cells[i].cell, cell))
            return &result->cells[i];
    return NULL;
}

static bool same_device(const struct result *a, const struct result *b)
{
    return strcmp(a->device.uuid, b->device.uuid) == 0 && strcmp(a->device.name, b->device.name) == 0 &&
           strcmp(a->engine, b->engine) == 0;
}

/* Change of a cell of result `index` since the latest earlier result of the same device and engine that has
 * it; NaN where there is none. */
static double change_of(const struct entry *entries, size_t index, const struct cell_result *cell)
{
    for (size_t i = index; i-- > 0;) {
        const struct cell_result *old =
            same_device(&entries[i].result, &entries[index].result) ? find_cell(&entries[i].result, &cell->cell) : NULL;

        if (old)
            return cell->time.summary.median / old->time.summary.median - 1;
    }
    return NAN;
}

/* Ends a line with the cell whose time grew most since it was last measured on this device. */
static void print_worst(const struct entry *entries, size_t index)
{
    const struct result *result = &entries[index].result;
    const struct cell_result *worst = NULL;
    double most = 0;
    char identity[CELL_IDENTITY_BYTES];

    for (size_t i = 0; i < result->cell_count; i++) {
        const double change = change_of(entries, index, &result->cells[i]);

        if (!isnan(change) && (!worst || change > most)) {
            worst = &result->cells[i];
            most = change;
        }
    }
    if (!worst) {
        printf("  -\n");
        return;
    }
    cell_identity(&worst->cell, identity);
    printf("  %+.2f%% %s%s\n", 100 * most, identity, worst->flags & FLAG_UNSTABLE ? " (unstable)" : "");
}

static void print_runs(const struct entry *entries, size_t count)
{
    printf("%-20s  %-12s  %-20s  %5s  %6s  worst since last measured on this device\n", "started", "driver", "device",
           "cells", "failed");
    for (size_t i = 0; i < count; i++) {
        const struct result *result = &entries[i].result;
        size_t failed = 0;

        for (size_t k = 0; k < result->cell_count; k++)
            failed += result->cells[k].status == CELL_FAILED;
        printf("%-20s  %-12s  %-20.20s  %5zu  %6zu", result->started_utc,
               result->device.driver[0] ? result->device.driver : "-", result->device.name, result->cell_count, failed);
        print_worst(entries, i);
    }
}

enum { FIELD_BYTES = 32 };

/* A number, or "-" when it is not known. */
__attribute__((format(printf, 2, 0))) static const char *shown(char out[FIELD_BYTES], const char *format, double value)
{
    if (!isfinite(value))
        return "-";
    snprintf(out, FIELD_BYTES, format, value);
    return out;
}

static void print_point(const struct entry *entries, size_t index, const struct cell_result *cell, const char *identity)
{
    const struct result *result = &entries[index].result;
    const struct summary *time = &cell->time.summary;
    char median[FIELD_BYTES], width[FIELD_BYTES], change[FIELD_BYTES];

    printf("%-20s  %-12s  %12s  %8s  %8s  %s\n", result->started_utc,
           result->device.driver[0] ? result->device.driver : "-", shown(median, "%.1f", time->median),
           shown(width, "%.2f%%", 100 * stats_relative_half_width(time)),
           shown(change, "%+.2f%%", 100 * change_of(entries, index, cell)), identity);
}

/* The series of every cell whose identity has `part` in it. */
static void print_series(const struct entry *entries, size_t count, const char *part)
{
    printf("%-20s  %-12s  %12s  %8s  %8s  cell\n", "started", "driver", "median_ns", "95% CI", "change");
    for (size_t i = 0; i < count; i++) {
        const struct result *result = &entries[i].result;

        for (size_t k = 0; k < result->cell_count; k++) {
            const struct cell_result *cell = &result->cells[k];
            char identity[CELL_IDENTITY_BYTES];

            cell_identity(&cell->cell, identity);
            if (strstr(identity, part))
                print_point(entries, i, cell, identity);
        }
    }
}

struct history_options {
    const char *cell;
    struct look_options look;
};

static const struct option_row rows[] = {
    {.name = "cell",
     .argument = "CELL",
     .help = "the series of this cell, by its identity WORKLOAD/PATH/PATTERN/..., or of those that a glob names",
     .kind = &option_text,
     .offset = offsetof(struct history_options, cell)},
};

static const struct option_group groups[] = {
    OPTION_GROUP(rows, 0),
    OPTION_GROUP(look_option_rows, offsetof(struct history_options, look)),
};

static enum status history(const void *parsed, const struct invocation *invocation)
{
    const struct history_options *options = parsed;
    struct file_list files = {0};
    struct entry *entries = NULL;
    size_t count = 0;
    enum status status = STATUS_OK;

    for (size_t i = 0; status == STATUS_OK && i < invocation->argument_count; i++)
        status = files_add(&files, invocation->arguments[i]);
    if (status == STATUS_OK) {
        entries = calloc(files.count, sizeof(*entries));
        status = entries ? STATUS_OK : log_error(STATUS_ENVIRONMENT, "out of memory");
    }
    for (size_t i = 0; status == STATUS_OK && i < files.count; i++) {
        entries[i].path = files.paths[i];
        status = result_read(files.paths[i], &entries[i].result);
        count += status == STATUS_OK;
    }
    if (status == STATUS_OK) {
        qsort(entries, count, sizeof(*entries), by_start);
        if (options->cell)
            print_series(entries, count, options->cell);
        else
            print_runs(entries, count);
    }
    for (size_t i = 0; i < count; i++)
        result_close(&entries[i].result);
    free(entries);
    files_close(&files);
    return status;
}

const struct command history_command = {
    .name = "history",
    .summary = "Print one line a run, or the series of one cell",
    .arguments = "PATH...",
    .arguments_min = 1,
    .arguments_max = 1000,
    .groups = groups,
    .group_count = sizeof(groups) / sizeof(groups[0]),
    .options_bytes = sizeof(struct history_options),
    .run = history,
};
