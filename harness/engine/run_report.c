/* SPDX-License-Identifier: MIT */
#include "run_report.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "log.h"

static size_t count_cells(const struct result *result, enum cell_status status, const struct cell_result **first)
{
    size_t count = 0;

    for (size_t i = 0; i < result->cell_count; i++)
        if (result->cells[i].status == status && count++ == 0)
            *first = &result->cells[i];
    return count;
}

/* What --resume takes. */
static const char *resumed_file(const struct run *run)
{
    return strcmp(run->path, "-") == 0 ? "FILE" : run->path;
}

/* Says which cells failed, and how to try them again. False when none did. */
static bool report_failed(const struct run *run)
{
    const struct cell_result *first = NULL;
    const size_t failed = count_cells(&run->result, CELL_FAILED, &first);
    char identity[CELL_IDENTITY_BYTES];

    if (failed == 0)
        return false;
    cell_identity(&first->cell, identity);
    log_warning("%zu cell%s failed; %s%s: %s; cbank run --resume %s --retry-failed tries again", failed,
                failed == 1 ? "" : "s", failed == 1 ? "" : "the first is ", identity, first->reason, resumed_file(run));
    return true;
}

/* Says why not all is measured, or what was found, and how to go on. */
static void report_end(const struct run *run, bool table, enum status verdict)
{
    const struct run_end *end = &run->result.end;

    if (end->given)
        log_error(
            STATUS_FINDING,
            "the run ended before its time%s%s: %s; look at nvidia-smi and the kernel's log for the GPU, then cbank "
            "run --resume %s measures the rest and tries failed cells again",
            end->cell[0] ? " at " : "", end->cell, end->reason, resumed_file(run));
    else if (!run->result.complete)
        log_note(run->options->quiet, "interrupted; cbank run --resume %s measures the rest", resumed_file(run));
    else if (!report_failed(run) && !table && verdict == STATUS_FINDING)
        log_warning("an exact counter differs or errors of the device grew; cbank show tells which");
}

enum status run_report(const struct run *run, enum status written, enum status verdict)
{
    const struct result *result = &run->result;
    /* Without memory for the file there is none for a table. */
    const bool table = strcmp(run->path, "-") != 0 && !run->options->quiet && written != STATUS_ENVIRONMENT;
    enum status status = STATUS_OK;

    if (result->counters_reason[0])
        log_warning("counters were not read: %s", result->counters_reason);
    if (table)
        status = show_result(stdout, result, look_color(&run->options->look, STDOUT_FILENO));
    if (table && status == STATUS_OK && written == STATUS_OK)
        printf("result: %s\n", run->path);
    else if (table && written == STATUS_OK)
        log_warning("the result is whole; cbank show %s prints its table", run->path);
    fflush(stdout);
    if (written != STATUS_OK && strcmp(run->path, "-") != 0)
        log_warning(
            "the result is not written: it would be in %s; make room there, or name another place with --json, and run again",
            run->path);
    report_end(run, table, verdict);
    return status_worse(status, written);
}
