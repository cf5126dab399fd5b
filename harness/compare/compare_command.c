/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "compare.h"
#include "compare_report.h"
#include "log.h"
#include "text.h"

/* The resampling of every comparison begins here, so that the same files give the same verdicts. */
enum { COMPARE_SEED = 1 };

struct compare_command_options {
    double threshold_percent, counter_threshold_percent;
    struct selection allowed; /* facets that may differ */
    const char *calibration_path;
    const char *paths[REPORT_COUNT]; /* of the reports; NULL: none */
    bool all, strict, quiet;
    struct look_options look;
};

#define MEMBER(name) .offset = offsetof(struct compare_command_options, name)

/* clang-format off */
static const struct option_row rows[] = {
    {.name = "threshold", .argument = "PERCENT", .help = "change of time that counts (default 1%)",
     .kind = &option_number, MEMBER(threshold_percent), .low = 0.001, .high = 1000, .unit = "percent", .fallback = "1"},
    {.name = "counter-threshold", .argument = "PERCENT",
     .help = "change of a measured counter that is shown (default 5%); exact ones are compared exactly",
     .kind = &option_number, MEMBER(counter_threshold_percent), .low = 0, .high = 1e6, .unit = "percent", .fallback = "5"},
    {.name = "allow-diff", .argument = "LIST",
     .help = "what may differ and still be compared; driver and VBIOS may anyway",
     .kind = &option_selection, MEMBER(allowed), .table = TABLE("facet", facets, facet_count)},
    {.name = "calibration", .argument = "FILE", .help = "noise of the cells between processes, from cbank calibrate",
     .kind = &option_text, MEMBER(calibration_path)},
    {.name = "all", .help = "show the cells that are the same, too", .kind = &option_flag, MEMBER(all)},
#define REPORT(name_, help_) \
    {.name = #name_, .argument = "FILE", .help = help_, .kind = &option_text, MEMBER(paths[REPORT_##name_])},
#include "report.def"
    {.name = "strict", .help = "exit 4 when a cell is inconclusive", .kind = &option_flag, MEMBER(strict)},
    {.name = "quiet", .help = "print errors and warnings alone", .kind = &option_flag, MEMBER(quiet)},
};
/* clang-format on */

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

/* Writes the reports that were asked for. */
static enum status write_reports(const struct compare_command_options *options, const struct comparison *comparison)
{
    enum status worst = STATUS_OK;

    for (int i = 0; i < REPORT_COUNT; i++)
        if (options->paths[i])
            worst = status_worse(worst, compare_write((enum report)i, comparison, options->paths[i]));
    return worst;
}

/* Whether nobody reads the table: it is not wanted, or a report takes stdout. */
static bool is_silent(const struct compare_command_options *options)
{
    bool silent = options->quiet;

    for (int i = 0; i < REPORT_COUNT; i++)
        silent = silent || (options->paths[i] && strcmp(options->paths[i], "-") == 0);
    return silent;
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
    const struct grid_look look = {.width = text_width(stdout), .color = look_color(&options->look, STDOUT_FILENO)};
    struct comparison comparison;
    enum status status = compare_sides(base, new_side, &compare, &comparison), verdict;

    if (status != STATUS_OK)
        return status;
    if (!is_silent(options))
        status = compare_print(stdout, &comparison, options->all, &look);
    status = status_worse(status, write_reports(options, &comparison));
    verdict = comparison_status(&comparison);
    if (verdict == STATUS_ENVIRONMENT && is_silent(options))
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
