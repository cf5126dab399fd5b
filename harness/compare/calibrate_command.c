/* SPDX-License-Identifier: MIT
 * Runs one plan in several processes, one after the other: the times of a cell show its deviation between processes. */
#include <stdio.h>
#include <string.h>

#include "calibration.h"
#include "cell_json.h"
#include "child.h"
#include "command.h"
#include "file_lock.h"
#include "grid.h"
#include "plan_options.h"
#include "processes.h"
#include "text.h"
#include "text_print.h"

struct calibrate_options {
    struct plan_options plan;
    struct measure_options measure;
    struct output_options look;
    uint64_t processes;
    const char *keep_path; /* folder that the results are kept in; NULL: nowhere */
    const char *json_path;
};

#define MEMBER(name) .offset = offsetof(struct calibrate_options, name)

/* clang-format off */
static const struct option_row rows[] = {
    {.name = "processes", .argument = "N", .help = "processes that run the plan (default 5)",
     .kind = &option_integer, MEMBER(processes), .low = 2, .high = PROCESSES_MAX, .unit = "processes", .fallback = "5"},
    {.name = "keep", .argument = "FOLDER", .help = "keep the results of the processes there, and continue an earlier calibration that ended early",
     .kind = &option_text, MEMBER(keep_path)},
    {.name = "json", .argument = "FILE", .help = "file for the calibration (default calibration.json)",
     .kind = &option_text, MEMBER(json_path), .fallback = "calibration.json"},
};
/* clang-format on */

static const struct option_group groups[] = {
    OPTION_GROUP(plan_option_rows, offsetof(struct calibrate_options, plan)),
    OPTION_GROUP(measure_option_rows, offsetof(struct calibrate_options, measure)),
    OPTION_GROUP(rows, 0),
    OPTION_GROUP(output_option_rows, offsetof(struct calibrate_options, look)),
};

#define OF(member) GRID_MEMBER(struct calibrated_cell, member)

static const struct grid_column columns[] = {
    {.heading = "cell", .value = cell_value_identity, .head = true},
    {.heading = "deviation", .format = text_change, .value = grid_number, .of = OF(deviation.value)},
    {.heading = "degrees", .format = text_tenths, .value = grid_number, .of = OF(deviation.degrees)},
    {.heading = "greatest", .format = text_change, .value = grid_number, .of = OF(noise)},
    {.heading = "median", .format = text_time, .value = grid_number, .of = OF(median_ns)},
};

/* Makes the calibration of all processes, writes and prints it. */
static enum status write_and_print(const struct process_series *series, const char *path)
{
    struct calibration calibration = {0};
    struct sides sides = {0};
    enum status status = process_series_read(series, series->most, &sides);

    if (status == STATUS_OK)
        status = calibration_of(&sides, &calibration);
    if (status == STATUS_OK)
        status = calibration_write(&calibration, path);
    if (status == STATUS_OK && strcmp(path, "-") != 0) {
        const struct grid grid = {
            .columns = columns,
            .column_count = sizeof(columns) / sizeof(columns[0]),
            .rows = calibration.cells,
            .row_count = calibration.cell_count,
            .row_bytes = sizeof(*calibration.cells),
        };

        printf("%s: %u %sprocesses: standard deviation between them, greatest difference of two\n",
               calibration.device.name, calibration.processes, calibration.modelled ? "modelled " : "");
        status = grid_print(stdout, &grid, &(struct print_style){.width = text_width(stdout), .indent = 2});
        printf("calibration: %s\n", path);
    }
    calibration_close(&calibration);
    sides_close(&sides);
    return status;
}

static enum status calibrate(const void *parsed, const struct invocation *invocation)
{
    const struct calibrate_options *options = parsed;
    struct process_series series = {.invocation = invocation, .name = "calibration", .most = options->processes};
    char own[PROCESS_PATH_BYTES];
    struct file_lock lock = {0};
    enum status status = process_check_device(&options->measure), ran = STATUS_USAGE;

    if (status == STATUS_OK)
        status = file_lock_take(options->json_path, &lock);
    if (status != STATUS_OK)
        return status;
    child_signals_catch();
    series.folder = process_folder_open(options->keep_path, own);
    if (series.folder) {
        ran = process_series_open(&series);
        for (uint64_t i = 0; process_usable(ran) && i < series.most; i++)
            ran = child_signal() ? STATUS_ENVIRONMENT : status_worse(ran, process_series_run(&series, i));
        if (child_signal())
            ran = STATUS_ENVIRONMENT;
        if (process_usable(ran))
            ran = status_worse(ran, write_and_print(&series, options->json_path));
        process_series_close(&series, !options->keep_path && (process_usable(ran) || series.finished == 0),
                             !process_usable(ran));
    }
    file_lock_release(&lock);
    child_signals_end();
    return ran;
}

const struct command calibrate_command = {
    .name = "calibrate",
    .summary = "Measure how much each cell differs between processes, for compare",
    .groups = groups,
    .group_count = sizeof(groups) / sizeof(groups[0]),
    .options_bytes = sizeof(struct calibrate_options),
    .details =
        "It runs the plan in several processes, one after the other. They end when it ends. Results of an interrupted\n"
        "calibration stay, and --keep goes on with them, if program and options are the same.",
    .run = calibrate,
};
