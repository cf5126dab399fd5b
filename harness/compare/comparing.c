/* SPDX-License-Identifier: MIT
 * The options that compare and gate share, and what follows from them: what is read before sides
 * are compared, and which reports are written. */
#include "comparing.h"

#include <string.h>

#include "files.h"
#include "log.h"

#define MEMBER(name) .offset = offsetof(struct comparing_options, name)

/* The option of a format takes its file. */
#define FILE_OPTION(format, explanation) \
    {.name = #format,                    \
     .topic = TOPIC_OUTPUT,              \
     .argument = "FILE",                 \
     .help = explanation,                \
     .kind = &option_text,               \
     .file = FILE_WRITTEN,               \
     MEMBER(report_paths[REPORT_##format])},

const struct option_row threshold_option_rows[1] = {
    {.name = "threshold",
     .topic = TOPIC_VERDICT,
     .argument = "PERCENT",
     .help = "change of time that counts (default 1%)",
     .kind = &option_number,
     .low = 0.001,
     .high = 1000,
     .unit = "percent",
     .fallback = "1"},
};

const struct option_row comparing_option_rows[COMPARING_OPTION_COUNT] = {
    {.name = "allow-diff",
     .topic = TOPIC_VERDICT,
     .argument = "LIST",
     .help = "context that may differ; driver and VBIOS always may",
     .kind = &option_selection,
     MEMBER(allowed),
     .table = TABLE("context field", context_fields, context_field_count)},
    {.name = "calibration",
     .topic = TOPIC_VERDICT,
     .argument = "FILE",
     .help = "variation of cells between processes on this machine, from cbank calibrate",
     .kind = &option_text,
     .file = FILE_READ,
     MEMBER(calibration_path)},
    {.name = "boards",
     .topic = TOPIC_VERDICT,
     .argument = "RESULTS",
     .help = "results of other GPUs of the model: what GPUs differ by in each cell, where the "
             "sides are of two",
     .kind = &option_text,
     .file = FILE_READ,
     MEMBER(boards_path)},
    {.name = "later",
     .topic = TOPIC_VERDICT,
     .help = "take results that began later than now and a day, too: a clock was wrong",
     .kind = &option_flag,
     MEMBER(later)},
    {.name = "all",
     .topic = TOPIC_VIEW,
     .help = "show the cells that are the same, too",
     .kind = &option_flag,
     MEMBER(all)},
    REPORT_FORMATS(FILE_OPTION){.name = "strict",
                                .topic = TOPIC_VERDICT,
                                .help = "exit 4 if a cell is inconclusive",
                                .kind = &option_flag,
                                MEMBER(strict)},
    {.name = "quiet",
     .topic = TOPIC_OUTPUT,
     .help = "print only errors and warnings",
     .kind = &option_flag,
     MEMBER(quiet)},
};

enum status comparing_open(const struct comparing_options *options, struct comparing *out)
{
    *out = (struct comparing){
        .options = options,
        .as = {.judge.threshold = options->threshold_percent / 100,
               .allowed = &options->allowed,
               .calibration = options->calibration_path ? &out->calibration : NULL,
               .boards = options->boards_path ? &out->boards : NULL},
    };
    out->boards.timely = !options->later;
    for (size_t i = 0; i < SIDES; i++)
        out->sides[i].timely = !options->later;
    if (options->boards_path) {
        const enum status status = sides_add_list(&out->boards, options->boards_path);

        if (status != STATUS_OK)
            return status;
    }
    return options->calibration_path
               ? calibration_read(options->calibration_path, &out->calibration)
               : STATUS_OK;
}

void comparing_pair(struct comparing *comparing, bool jit)
{
    comparing->as.jit = jit;
    for (size_t i = 0; i < SIDES; i++)
        comparing->sides[i].any_compiler = jit;
}

/* -- reporting --------------------------------------------------------------------------------- */

#define REPORT_ROW(name, help) &report_##name,

const struct report_format *const report_formats[REPORT_COUNT] = {REPORT_FORMATS(REPORT_ROW)};

struct report {
    const struct report_format *format;
    const struct comparison *comparison;
    const struct report_view *view;
};

static enum status write_report(FILE *stream, const void *context)
{
    const struct report *report = context;

    return report->format->write(stream, report->comparison, report->view);
}

/* Prints and writes what was asked for, and returns the exit code. */
static enum status report_all(const struct comparing *comparing, struct print_style look)
{
    const struct comparing_options *options = comparing->options;
    const struct comparison *comparison = &comparing->comparison;
    const struct report_view view = {look, options->all};
    const bool across = comparing->across && comparison->comparable;
    bool silent = options->quiet;
    enum status status = STATUS_OK;

    for (size_t i = 0; i < REPORT_COUNT; i++)
        silent = silent || (options->report_paths[i] && strcmp(options->report_paths[i], "-") == 0);
    if (!silent)
        status = (across ? &report_across : &report_text)->write(stdout, comparison, &view);
    for (size_t i = 0; i < REPORT_COUNT; i++) {
        const struct report report = {report_formats[i], comparison, &view};

        if (options->report_paths[i])
            status =
                status_worse(status, file_write(options->report_paths[i], write_report, &report));
    }
    if (silent && !comparison->comparable)
        log_error(STATUS_ENVIRONMENT,
                  "the sides are not comparable; the table, which --quiet leaves out, says why");
    return across ? status : status_worse(status, comparison_status(comparison, options->strict));
}

enum status comparing_close(struct comparing *comparing, enum status status,
                            struct print_style look)
{
    if (status == STATUS_OK && comparing->comparison.gpus)
        status = report_all(comparing, look);
    comparison_close(&comparing->comparison);
    calibration_close(&comparing->calibration);
    sides_close(&comparing->boards);
    for (size_t i = 0; i < SIDES; i++)
        sides_close(&comparing->sides[i]);
    return status;
}
