/* SPDX-License-Identifier: MIT
 * cbank compare: two sides of results, or with --batch many questions about times. */
#include <string.h>
#include <unistd.h>

#include "batch.h"
#include "command.h"
#include "comparing.h"
#include "files.h"
#include "log.h"

struct compare_command_options {
    struct comparing_options comparing;
    bool across, energy, jit;
    const char *batch_path;
    struct output_options look;
};

static const struct option_row rows[] = {
    {.name = "across",
     .topic = TOPIC_VIEW,
     .help = "show two GPUs beside each other, in time and in SM cycles; nothing is judged, and "
             "the exit code is 0",
     .kind = &option_flag,
     .offset = offsetof(struct compare_command_options, across)},
    {.name = "energy",
     .topic = TOPIC_VERDICT,
     .help = "compare the energy of a launch, too, which run --energy measures: higher beyond the "
             "threshold is a regression",
     .kind = &option_flag,
     .offset = offsetof(struct compare_command_options, energy)},
    {.name = "jit",
     .topic = TOPIC_VERDICT,
     .help = "pair cells whether the driver compiled them or the toolkit; their code may differ",
     .kind = &option_flag,
     .offset = offsetof(struct compare_command_options, jit)},
    {.name = "batch",
     .topic = TOPIC_VIEW,
     .argument = "FILE",
     .help =
         "in place of BASE and NEW: judge times, a question in JSON a line, and print an answer "
         "a line",
     .kind = &option_text,
     .file = FILE_READ,
     .offset = offsetof(struct compare_command_options, batch_path)},
};

static const struct option_group groups[] = {
    OPTION_GROUP(rows, 0),
    OPTION_GROUP(threshold_option_rows,
                 offsetof(struct compare_command_options, comparing.threshold_percent)),
    OPTION_GROUP(comparing_option_rows, offsetof(struct compare_command_options, comparing)),
    OPTION_GROUP(output_option_rows, offsetof(struct compare_command_options, look)),
};

/* Answers the questions of a file, or of standard input for "-". */
static enum status compare_batch(const char *path)
{
    struct stat about;
    const char *why;
    FILE *questions;
    enum status status;
    int descriptor;

    if (strcmp(path, "-") == 0)
        return batch_answer(stdin, stdout);
    descriptor = file_open(path, &about, &why);
    if (descriptor < 0)
        return log_error(STATUS_USAGE, "cannot read %s: %s", path, why);
    questions = fdopen(descriptor, "r");
    if (!questions) {
        close(descriptor);
        return log_memory("%s", path);
    }
    status = batch_answer(questions, stdout);
    fclose(questions);
    return status;
}

/* STATUS_USAGE, logged, for options that judge: --across does not. */
static enum status across_check(const struct comparing_options *options)
{
    bool judges = options->allowed.count > 0 || options->strict;

    for (size_t i = 0; i < REPORT_COUNT; i++)
        judges = judges || (options->report_paths[i] && report_formats[i]->judges);
    return judges ? log_error(STATUS_USAGE, "--across is no gate: leave --allow-diff, --junit, "
                                            "--markdown and --strict out")
                  : STATUS_OK;
}

static enum status compare(const void *parsed, const struct invocation *invocation)
{
    const struct compare_command_options *options = parsed;
    const struct table fields = TABLE("context field", context_fields, context_field_count);
    struct selection all = {0};
    struct comparing comparing;
    enum status status;

    if (options->batch_path && invocation->given_count == 1 && invocation->argument_count == 0)
        return compare_batch(options->batch_path);
    if (options->batch_path || invocation->argument_count != SIDES)
        return log_error(STATUS_USAGE,
                         "compare needs BASE NEW, or --batch FILE alone; try cbank compare --help");
    if (options->across && (status = across_check(&options->comparing)) != STATUS_OK)
        return status;
    status = comparing_open(&options->comparing, &comparing);
    comparing.across = options->across;
    comparing.as.energy = options->energy;
    comparing_pair(&comparing, options->jit);
    if (status == STATUS_OK && options->across)
        status =
            table_select(&fields, "device,uuid,driver,vbios,clocks,ecc,mig,sass,counters", &all);
    if (options->across)
        comparing.as.allowed = &all;

    for (size_t i = 0; i < SIDES && status == STATUS_OK; i++)
        status = sides_add_list(&comparing.sides[i], invocation->arguments[i]);
    if (status == STATUS_OK)
        status = compare_sides(comparing.sides, &comparing.as, &comparing.comparison);
    status = comparing_close(&comparing, status, output_style(&options->look));
    selection_close(&all);
    return status;
}

const struct command compare_command = {
    .name = "compare",
    .summary = "Compare results cell by cell: is NEW worse than BASE?",
    .arguments = "BASE NEW",
    .arguments_min = 0,
    .arguments_max = 2,
    OPTION_GROUPS(groups),
    .options_bytes = sizeof(struct compare_command_options),
    .common = "threshold,allow-diff,calibration,boards,strict,all,across,json,junit,markdown,quiet",
    .details = "BASE and NEW are each a result file, a folder of them, or several with commas "
               "between. Each result is a process, and\n"
               "each GPU is compared with itself, by its UUID. The exit code is 1 when a cell "
               "regressed, is missing or is invalid, 3\n"
               "when the sides are not comparable, and 4 when no cell could be decided. For any "
               "file, - is standard output.\n"
               "\n"
               "With --batch, lines hold times, and docs/comparing.md says how; the exit code is 2 "
               "when a line was no question.\n"
               "\n"
               "With --across, BASE and NEW are two GPUs, of one model or two. Intervals hold what "
               "boards of a model differ by.",
    .run = compare,
};
