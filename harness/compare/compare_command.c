/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "compare.h"
#include "compare_report.h"
#include "log.h"

/* The resampling of every comparison begins here, so that the same files give the same verdicts. */
enum { COMPARE_SEED = 1 };

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
static enum status write_reports(const struct options *options, const struct comparison *comparison)
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
static bool stdout_taken(const struct options *options)
{
    const char *const paths[] = {options->markdown_path, options->junit_path, options->json_path, options->csv_path};

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        if (paths[i] && strcmp(paths[i], "-") == 0)
            return true;
    return false;
}

static enum status compare_read(const struct options *options, const struct side *base, const struct side *new_side,
                                const struct calibration *calibration)
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
        compare_print(stdout, &comparison, options->all, options_color(options, STDOUT_FILENO));
    status = write_reports(options, &comparison);
    verdict = comparison_status(&comparison);
    if (verdict == STATUS_ENVIRONMENT && (options->quiet || stdout_taken(options)))
        log_error(verdict, "the sides are not comparable; cbank compare without --quiet says why");
    comparison_close(&comparison);
    return status_worse(status, verdict == STATUS_INCONCLUSIVE && !options->strict ? STATUS_OK : verdict);
}

enum status command_compare(const struct options *options, int argc, char **argv)
{
    struct side base = {0}, new_side = {0};
    struct calibration calibration = {0};
    enum status status = read_side(options->arguments[0], &base);

    (void)argc;
    (void)argv;
    if (status == STATUS_OK)
        status = read_side(options->arguments[1], &new_side);
    if (status == STATUS_OK && options->calibration_path)
        status = calibration_read(options->calibration_path, &calibration);
    if (status == STATUS_OK)
        status = compare_read(options, &base, &new_side, options->calibration_path ? &calibration : NULL);
    calibration_close(&calibration);
    side_close(&new_side);
    side_close(&base);
    return status;
}
