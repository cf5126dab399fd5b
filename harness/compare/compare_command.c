/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "compare.h"
#include "compare_report.h"
#include "log.h"

/* The resampling of every comparison begins here, so that the same files give the same verdicts. */
enum { COMPARE_SEED = 1 };

struct compare_command_options {
    double threshold_percent, counter_threshold_percent;
    struct selection allowed; /* facets that may differ */
    const char *calibration_path;
    const char *markdown_path, *junit_path, *json_path, *csv_path;
    bool all, strict, quiet;
    struct look_options look;
};

static const struct option_row rows[] = {
    {.name = "threshold",
     .argument = "PERCENT",
     .help = "change of time that counts (default 1%)",
     .kind = &option_number,
     .offset = offsetof(struct compare_command_options, threshold_percent),
     .low = 0.001,
     .high = 1000,
     .unit = "percent",
     .fallback = "1"},
    {.name = "counter-threshold",
     .argument = "PERCENT",
     .help = "change of a measured counter that is shown (default 5%); exact ones are compared exactly",
     .kind = &option_number,
     .offset = offsetof(struct compare_command_options, counter_threshold_percent),
     .low = 0,
     .high = 1e6,
     .unit = "percent",
     .fallback = "5"},
    {.name = "allow-diff",
     .argument = "LIST",
     .help = "what may differ and still be compared; driver and VBIOS may anyway",
     .kind = &option_selection,
     .offset = offsetof(struct compare_command_options, allowed),
     .table = TABLE("facet", facets, facet_count)},
    {.name = "calibration",
     .argument = "FILE",
     .help = "noise of the cells between processes, from cbank calibrate",
     .kind = &option_text,
     .offset = offsetof(struct compare_command_options, calibration_path)},
    {.name = "all",
     .help = "show the cells that are the same, too",
     .kind = &option_flag,
     .offset = offsetof(struct compare_command_options, all)},
    {.name = "markdown",
     .argument = "FILE",
     .help = "write a report for people, such as a step summary of GitHub",
     .kind = &option_text,
     .offset = offsetof(struct compare_command_options, markdown_path)},
    {.name = "junit",
     .argument = "FILE",
     .help = "write a JUnit report: a test case a cell",
     .kind = &option_text,
     .offset = offsetof(struct compare_command_options, junit_path)},
    {.name = "json",
     .argument = "FILE",
     .help = "write the comparison as JSON",
     .kind = &option_text,
     .offset = offsetof(struct compare_command_options, json_path)},
    {.name = "csv",
     .argument = "FILE",
     .help = "write the comparison as CSV",
     .kind = &option_text,
     .offset = offsetof(struct compare_command_options, csv_path)},
    {.name = "strict",
     .help = "exit 4 when a cell is inconclusive",
     .kind = &option_flag,
     .offset = offsetof(struct compare_command_options, strict)},
    {.name = "quiet",
     .help = "print errors and warnings alone",
     .kind = &option_flag,
     .offset = offsetof(struct compare_command_options, quiet)},
};

static const struct option_group groups[] = {
    OPTION_GROUP(rows, 0),
    OPTION_GROUP(look_option_rows, offsetof(struct compare_command_options, look)),
};

/* Reads what the user called one side: paths with commas between. */
static enum status read_side(const char *paths, struct side *side)
{
    char *copy = strdup(paths);
    enum status status = copy ? STATUS_OK : log_error(STATUS_ENVIRONMENT, "out of memory");

    for (char *rest = copy, *path; status == STATUS_OK && (path = strsep(&rest, ","));)
        status = side->files == 0 ? side_read(path, side) : side_add(side, path);
    free(copy);
    snprintf(side->label, sizeof(side->label), "%s", paths);
    if (status == STATUS_OK && side->incomplete > 0)
        log_warning("%s: %zu of %zu results are of interrupted runs", paths, side->incomplete, side->files);
    return status;
}

/* Writes the reports that were asked for, each in the format of its option. */
static enum status write_reports(const struct compare_command_options *options, const struct comparison *comparison)
{
    static const struct table formats = TABLE("report", report_formats, report_format_count);
    const struct {
        const char *format, *path;
    } reports[] = {
        {"markdown", options->markdown_path},
        {"junit", options->junit_path},
        {"json", options->json_path},
        {"csv", options->csv_path},
    };
    enum status worst = STATUS_OK;

    for (size_t i = 0; i < sizeof(reports) / sizeof(reports[0]); i++)
        if (reports[i].path)
            worst = status_worse(worst,
                                 compare_write(table_find(&formats, reports[i].format), comparison, reports[i].path));
    return worst;
}

/* Whether a report takes stdout: then the table stays away. */
static bool stdout_taken(const struct compare_command_options *options)
{
    const char *const paths[] = {options->markdown_path, options->junit_path, options->json_path, options->csv_path};

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        if (paths[i] && strcmp(paths[i], "-") == 0)
            return true;
    return false;
}

static enum status compare_read(const struct compare_command_options *options, const struct side *base,
                                const struct side *new_side, const struct calibration *calibration)
{
    const struct compare_options compare = {
        .threshold = options->threshold_percent / 100,
        .counter_threshold = options->counter_threshold_percent / 100,
        .allowed = &options->allowed,
        .calibration = calibration,
        .seed = COMPARE_SEED,
    };
    struct comparison comparison;
    enum status status = compare_sides(base, new_side, &compare, &comparison), verdict;

    if (status != STATUS_OK)
        return status;
    if (!options->quiet && !stdout_taken(options))
        compare_print(stdout, &comparison, options->all, look_color(&options->look, STDOUT_FILENO));
    status = write_reports(options, &comparison);
    verdict = comparison_status(&comparison);
    if (verdict == STATUS_ENVIRONMENT && (options->quiet || stdout_taken(options)))
        log_error(verdict, "the sides are not comparable; cbank compare without --quiet says why");
    comparison_close(&comparison);
    return status_worse(status, verdict == STATUS_INCONCLUSIVE && !options->strict ? STATUS_OK : verdict);
}

static enum status compare(const void *parsed, const struct invocation *invocation)
{
    const struct compare_command_options *options = parsed;
    struct side base = {0}, new_side = {0};
    struct calibration calibration = {0};
    enum status status = read_side(invocation->arguments[0], &base);

    if (status == STATUS_OK)
        status = read_side(invocation->arguments[1], &new_side);
    if (status == STATUS_OK && options->calibration_path)
        status = calibration_read(options->calibration_path, &calibration);
    if (status == STATUS_OK)
        status = compare_read(options, &base, &new_side, options->calibration_path ? &calibration : NULL);
    calibration_close(&calibration);
    side_close(&new_side);
    side_close(&base);
    return status;
}

const struct command compare_command = {
    .name = "compare",
    .summary = "Compare results cell by cell: is NEW worse than BASE?",
    .arguments = "BASE NEW",
    .arguments_min = 2,
    .arguments_max = 2,
    .groups = groups,
    .group_count = sizeof(groups) / sizeof(groups[0]),
    .options_bytes = sizeof(struct compare_command_options),
    .details =
        "BASE and NEW are each a result file, a folder of them, or several with commas between. Each file is a process. The exit\n"
        "code is 1 when a cell regressed, is missing or is invalid, and 3 when the sides are not comparable. In place of any\n"
        "file that is written, - is standard output, and the table stays away.",
    .run = compare,
};
