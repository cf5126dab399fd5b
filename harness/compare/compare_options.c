/* SPDX-License-Identifier: MIT */
#include "compare_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "text.h"

#define MEMBER(name) .offset = offsetof(struct comparing_options, name)

/* clang-format off */
const struct option_row comparing_option_rows[] = {
    {.name = "threshold", .argument = "PERCENT", .help = "change of time that counts (default 1%)",
     .kind = &option_number, MEMBER(threshold_percent), .low = 0.001, .high = 1000, .unit = "percent", .fallback = "1"},
    {.name = "counter-threshold", .argument = "PERCENT",
     .help = "change of a measured counter that is shown (default 5%); exact ones are compared exactly",
     .kind = &option_number, MEMBER(counter_threshold_percent), .low = 0, .high = 1e6, .unit = "percent", .fallback = "5"},
    {.name = "allow-diff", .argument = "LIST",
     .help = "what may differ and still be compared; driver and VBIOS may anyway",
     .kind = &option_selection, MEMBER(allowed), .table = TABLE("facet", facets, facet_count)},
    {.name = "calibration", .argument = "FILE", .help = "how much cells differ between processes here, from cbank calibrate",
     .kind = &option_text, MEMBER(calibration_path)},
    {.name = "all", .help = "show the cells that are the same, too", .kind = &option_flag, MEMBER(all)},
#define REPORT(name_, help_) \
    {.name = #name_, .argument = "FILE", .help = help_, .kind = &option_text, .written = true, \
     MEMBER(paths[REPORT_##name_])},
#include "report.def"
    {.name = "raw", .help = RAW_HELP, .kind = &option_flag, MEMBER(raw)},
    {.name = "strict", .help = "exit 4 when a cell is inconclusive", .kind = &option_flag, MEMBER(strict)},
    {.name = "quiet", .help = "print errors and warnings alone", .kind = &option_flag, MEMBER(quiet)},
};
/* clang-format on */

struct compare_options comparing_as(const struct comparing_options *options, const struct calibration *calibration)
{
    return (struct compare_options){
        .threshold = options->threshold_percent / 100,
        .counter_threshold = options->counter_threshold_percent / 100,
        .allowed = &options->allowed,
        .calibration = calibration,
        .calibration_path = options->calibration_path,
        .raw = options->raw,
        .looks = 1,
    };
}

enum status comparing_calibration(const struct comparing_options *options, struct calibration *room,
                                  const struct calibration **out)
{
    *out = options->calibration_path ? room : NULL;
    return *out ? calibration_read(options->calibration_path, room) : STATUS_OK;
}

static void name_side(const char *paths, struct side *side)
{
    snprintf(side->label, sizeof(side->label), "%s", paths);
    if (side->incomplete > 0)
        log_warning("%s: %zu of %zu results are of interrupted runs", paths, side->incomplete, side->files);
}

/* Calls add(sides, path) for each of the paths. */
static enum status each_path(const char *paths, enum status (*add)(void *sides, const char *path), void *sides)
{
    char *copy = strdup(paths);
    enum status status = copy ? STATUS_OK : log_memory("the names of files");

    for (char *rest = copy, *path; status == STATUS_OK && (path = strsep(&rest, ","));)
        status = add(sides, path);
    free(copy);
    return status;
}

static enum status add_to_side(void *side, const char *path)
{
    return side_add(side, path);
}

static enum status add_to_gpus(void *sides, const char *path)
{
    return gpu_sides_add(sides, path);
}

enum status comparing_side(const char *paths, struct side *side)
{
    const enum status status = each_path(paths, add_to_side, side);

    if (status == STATUS_OK)
        name_side(paths, side);
    return status;
}

enum status comparing_gpus(const char *paths, struct gpu_sides *sides)
{
    const enum status status = each_path(paths, add_to_gpus, sides);

    if (status == STATUS_OK)
        name_side(paths, &sides->total);
    return status;
}

enum status comparing_report(const struct comparing_options *options, const struct look_options *look,
                             const struct comparison *comparison)
{
    const struct grid_look grid_look = {.width = text_width(stdout), .color = look_color(look, STDOUT_FILENO)};
    const enum status verdict = comparison_status(comparison);
    enum status status = STATUS_OK;
    bool silent = options->quiet;

    for (size_t i = 0; i < REPORT_COUNT; i++)
        silent = silent || (options->paths[i] && strcmp(options->paths[i], "-") == 0);
    if (!silent)
        status = compare_print(stdout, comparison, options->all, &grid_look);
    for (size_t i = 0; i < REPORT_COUNT; i++)
        if (options->paths[i])
            status = status_worse(status, file_write(options->paths[i], report_formats[i].write, comparison));
    if (verdict == STATUS_ENVIRONMENT && silent)
        log_error(verdict, "the sides are not comparable; the table, which --quiet leaves out, says why");
    return status_worse(status, verdict == STATUS_INCONCLUSIVE && !options->strict ? STATUS_OK : verdict);
}
