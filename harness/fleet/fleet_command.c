/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "files.h"
#include "fleet_report.h"
#include "log.h"

struct fleet_command_options {
    const char *baseline, *inventory;
    double threshold_percent, peer_threshold_percent, gap_hours;
    uint64_t nights;
    const char *json, *junit, *markdown;
    bool quiet;
    struct look_options look;
};

#define MEMBER(name) .offset = offsetof(struct fleet_command_options, name)

/* clang-format off */
static const struct option_row rows[] = {
    {.name = "baseline", .argument = "DRIVER|DATE",
     .help = "hold GPUs against their runs with this driver, or until this date (2026-01-31, or a time as results have it);"
             " default: the past of each",
     .kind = &option_text, MEMBER(baseline)},
    {.name = "inventory", .argument = "FILE",
     .help = "who should answer: lines of a host and its number of GPUs, or the UUID of one; default: who did the night before",
     .kind = &option_text, MEMBER(inventory)},
    {.name = "threshold", .argument = "PERCENT",
     .help = "change of a GPU against its past that counts; of a group half of it (default 1%)",
     .kind = &option_number, MEMBER(threshold_percent), .low = 0.001, .high = 1000, .unit = "percent", .fallback = "1"},
    {.name = "peer-threshold", .argument = "PERCENT",
     .help = "difference from the other GPUs of the model that counts (default 3%)",
     .kind = &option_number, MEMBER(peer_threshold_percent), .low = 0.001, .high = 1000, .unit = "percent", .fallback = "3"},
    {.name = "nights", .argument = "N", .help = "nights that are looked at, without --baseline (default 60)",
     .kind = &option_integer, MEMBER(nights), .low = 1, .high = 100000, .unit = "nights", .fallback = "60"},
    {.name = "gap", .argument = "HOURS",
     .help = "a new night begins where no run began for so long (default 4)",
     .kind = &option_number, MEMBER(gap_hours), .low = 0, .high = 10000, .unit = "hours", .fallback = "4"},
    {.name = "json", .argument = "FILE", .help = "write the verdict as JSON", .kind = &option_text, .written = true,
     MEMBER(json)},
    {.name = "junit", .argument = "FILE", .help = "write it as JUnit, a test for each GPU", .kind = &option_text, .written = true,
     MEMBER(junit)},
    {.name = "markdown", .argument = "FILE", .help = "write it as Markdown", .kind = &option_text, .written = true,
     MEMBER(markdown)},
    {.name = "quiet", .help = "print errors and warnings alone", .kind = &option_flag, MEMBER(quiet)},
};
/* clang-format on */

static const struct option_group groups[] = {
    OPTION_GROUP(rows, 0),
    OPTION_GROUP(look_option_rows, offsetof(struct fleet_command_options, look)),
};

static enum status report(const struct fleet_command_options *options, const struct fleet_verdict *verdict)
{
    const struct grid_look look = {.width = text_width(stdout), .color = look_color(&options->look, STDOUT_FILENO)};
    const struct {
        const char *path;
        file_writer *write;
    } files[] = {{options->json, fleet_json}, {options->junit, fleet_junit}, {options->markdown, fleet_markdown}};
    enum status status = STATUS_OK;
    bool silent = options->quiet;

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        silent = silent || (files[i].path && strcmp(files[i].path, "-") == 0);
    if (!silent)
        status = fleet_print(stdout, verdict, &look);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        if (files[i].path && status != STATUS_ENVIRONMENT)
            status = status_worse(status, file_write(files[i].path, files[i].write, verdict));
    return status_worse(status, fleet_status(verdict));
}

static enum status fleet_run(const void *parsed, const struct invocation *invocation)
{
    const struct fleet_command_options *options = parsed;
    const struct fleet_options how = {options->baseline, options->nights, options->gap_hours};
    struct fleet_verdict verdict = {.limits = FLEET_LIMITS_DEFAULT, .baseline = options->baseline};
    struct fleet fleet = {0};
    struct store *store = NULL;
    enum status status = store_check(invocation->arguments[0]);

    verdict.limits.threshold = options->threshold_percent / 100;
    verdict.limits.peer_threshold = options->peer_threshold_percent / 100;
    if (status == STATUS_OK)
        status = store_open(invocation->arguments[0], SQL_READ, &store);
    if (status == STATUS_OK)
        status = fleet_read(store, &how, &fleet);
    if (status == STATUS_OK)
        status = fleet_read_times(store, &how, &fleet);
    if (status == STATUS_OK)
        status = fleet_decide(store, &fleet, options->inventory, &verdict);
    if (status == STATUS_OK)
        status = report(options, &verdict);
    fleet_verdict_close(&verdict);
    fleet_close(&fleet);
    store_close(store);
    return status;
}

const struct command fleet_command = {
    .name = "fleet",
    .summary = "Tell of a store which GPUs became slower, since when, and which did not answer",
    .arguments = "STORE",
    .arguments_min = 1,
    .arguments_max = 1,
    .groups = groups,
    .group_count = sizeof(groups) / sizeof(groups[0]),
    .options_bytes = sizeof(struct fleet_command_options),
    .details =
        "STORE is a file that cbank ingest made; it is not changed. The last night is judged: who answered, what is not as on\n"
        "the other GPUs of a model, and which times changed against the past of the GPU, told of the coarsest group that\n"
        "changed alike: all GPUs of a model, of a driver, of a VBIOS, of a node, or one. The exit code is 1 when a GPU is\n"
        "missing, replaced, slower, or differs; faster, moved and added ones are told alone. In place of any file that is\n"
        "written, - is standard output, and the table stays away.",
    .run = fleet_run,
};
