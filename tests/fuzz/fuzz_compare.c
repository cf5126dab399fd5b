/* SPDX-License-Identifier: MIT
 * Two results, with a NUL between, compared; a result alone is compared with itself, and then nothing changed. */
#include <string.h>

#include "compare_report.h"
#include "fuzz.h"

/* Reads a result and makes a side of it. False when it is refused. */
static bool side_of_text(const char *text, size_t bytes, struct side *side)
{
    struct result result;
    enum status status;

    *side = (struct side){0};
    capture_begin(&fuzz_stderr);
    status = result_parse(FUZZ_FILE, text, bytes, &result);
    if (status == STATUS_OK) {
        status = side_take(side, FUZZ_FILE, &result);
        result_close(&result);
    }
    capture_end(&fuzz_stderr);
    require_said(status);
    if (status != STATUS_OK)
        side_close(side);
    return status == STATUS_OK;
}

/* Prints it in every form. */
static void report(const struct comparison *comparison)
{
    const struct grid_look look = {.width = text_width(stdout), .color = true};
    enum status status = compare_print(stdout, comparison, true, &look);

    for (size_t i = 0; i < REPORT_COUNT; i++)
        status = status_worse(status, file_write("-", report_formats[i].write, comparison));
    require(status == STATUS_OK, "it cannot be written", "");
}

static void compare(const struct side *base, const struct side *new_side, bool same)
{
    static const struct selection none = {0};
    const struct compare_options options = {.threshold = 0.01, .counter_threshold = 0.05, .allowed = &none};
    struct comparison comparison;

    capture_begin(&fuzz_stdout);
    capture_begin(&fuzz_stderr);
    require(compare_sides(base, new_side, &options, &comparison) == STATUS_OK, "no comparison", "");
    report(&comparison);
    capture_end(&fuzz_stderr);
    capture_end(&fuzz_stdout);
    if (same)
        require(comparison.counts[VERDICT_REGRESSED] + comparison.counts[VERDICT_IMPROVED] +
                        comparison.counts[VERDICT_MISSING] + comparison.counts[VERDICT_NEW] ==
                    0,
                "a result differs from itself", fuzz_stdout.memory.text);
    comparison_status(&comparison);
    comparison_close(&comparison);
}

void fuzz_compare(const char *text, size_t bytes)
{
    const char *end = memchr(text, '\0', bytes);
    const size_t first = end ? (size_t)(end - text) : bytes;
    struct side base, new_side;

    if (side_of_text(text, first, &base)) {
        if (!end)
            compare(&base, &base, true);
        else if (side_of_text(end + 1, bytes - first - 1, &new_side)) {
            compare(&base, &new_side, false);
            side_close(&new_side);
        }
    }
    side_close(&base);
}
