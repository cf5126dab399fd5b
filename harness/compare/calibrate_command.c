/* SPDX-License-Identifier: MIT
 * Runs one plan in several processes, one after the other: the times of a cell show its deviation
 * between processes. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "calibration.h"
#include "child.h"
#include "command.h"
#include "file_lock.h"
#include "processes.h"
#include "text_print.h"

struct calibrate_options {
    struct plan_options plan;
    struct measure_options measure;
    uint64_t processes;
    const char *json_path;
    bool quiet;
};

static const struct option_row rows[] = {
    {.name = "processes",
     .topic = TOPIC_MEASURING,
     .argument = "N",
     .help = "processes that run the plan (default 5)",
     .kind = &option_integer,
     .offset = offsetof(struct calibrate_options, processes),
     .low = 2,
     .high = 1000,
     .unit = "processes",
     .fallback = "5"},
    {.name = "json",
     .topic = TOPIC_OUTPUT,
     .argument = "FILE",
     .help = "file for the calibration (default calibration.json)",
     .kind = &option_text,
     .file = FILE_WRITTEN,
     .offset = offsetof(struct calibrate_options, json_path),
     .fallback = "calibration.json"},
    {.name = "quiet",
     .topic = TOPIC_OUTPUT,
     .help = "print only errors and warnings",
     .kind = &option_flag,
     .offset = offsetof(struct calibrate_options, quiet)},
};

static const struct option_group groups[] = {
    OPTION_GROUP(plan_option_rows, offsetof(struct calibrate_options, plan)),
    OPTION_GROUP(kernel_option_rows, offsetof(struct calibrate_options, plan.kernel)),
    OPTION_GROUP(measure_option_rows, offsetof(struct calibrate_options, measure)),
    OPTION_GROUP(rows, 0),
};

static enum status calibrate(const void *parsed, const struct invocation *invocation)
{
    const struct calibrate_options *options = parsed;
    struct calibration calibration = {0};
    struct sides sides = {0};
    struct file_lock lock = {0};
    struct processes processes = {.invocation = invocation, .measure = &options->measure};
    enum status status = file_lock_take(options->json_path, &lock);
    bool dropped;

    if (status != STATUS_OK)
        return status;
    interrupt_catch();
    if (invocation->argument_count == 0)
        status = processes_open(&processes, NULL);
    if (invocation->argument_count > 0)
        status = sides_add_list(&sides, invocation->arguments[0]);
    for (uint64_t i = 0;
         invocation->argument_count == 0 && i < options->processes && status <= STATUS_FINDING; i++)
        status =
            status_worse(status, process_run(&processes, BASE, i + 1, false, &sides, &dropped));
    processes_close(&processes, status > STATUS_FINDING, "cbank calibrate ");
    if (status <= STATUS_FINDING)
        status = status_worse(status, calibration_of(&sides, &calibration));
    if (status <= STATUS_FINDING)
        status = status_worse(status, document_write(&calibration_document, &calibration,
                                                     options->json_path));
    if (status <= STATUS_FINDING && !options->quiet && strcmp(options->json_path, "-") != 0)
        text_line(stdout, "calibration: %s, %u %sprocesses of %s, %zu cells", options->json_path,
                  calibration.processes, calibration.modelled ? "modelled " : "",
                  calibration.device.name, calibration.cell_count);
    calibration_close(&calibration);
    sides_close(&sides);
    file_lock_release(&lock);
    interrupt_end();
    return status;
}

const struct command calibrate_command = {
    .name = "calibrate",
    .summary = "Measure how much each cell differs between processes, for compare",
    .arguments = "[RESULTS]",
    .arguments_max = 1,
    OPTION_GROUPS(groups),
    .options_bytes = sizeof(struct calibrate_options),
    .common = "quick,workload,path,pattern,kernel,device,max-noise,processes,json,quiet",
    .details = "It runs the plan in several processes, one after the other, which end when it "
               "ends. Or it takes results that are\n"
               "there, as compare does: a folder, or files with commas between.",
    .run = calibrate,
};
