/* SPDX-License-Identifier: MIT
 * Two results, with a NUL between, compared; a result alone is compared with itself, and then
 * nothing changed. */
#include <string.h>

#include "fuzz.h"
#include "report.h"

/* Reads a result and makes a side of it. False when it is refused. */
static bool side_of_text(const char *text, size_t bytes, struct sides *side)
{
    struct result result;
    enum status status;

    capture_begin(&fuzz_stderr);
    status = result_parse(FUZZ_FILE, text, bytes, &result);
    if (status == STATUS_OK) {
        status = sides_take(side, FUZZ_FILE, &result);
        result_close(&result);
    }
    capture_end(&fuzz_stderr);
    require_said(status);
    return status == STATUS_OK;
}

/* Compares and prints in every form. */
static void compare(const struct sides sides[SIDES], bool same)
{
    static const struct selection none = {0};
    const struct compare_options options = {.judge.threshold = 0.01, .allowed = &none};
    const struct report_view view = {{.width = text_width(stdout), .color = true}, .all = true};
    struct comparison comparison;
    enum status status;

    capture_begin(&fuzz_stdout);
    capture_begin(&fuzz_stderr);
    require(compare_sides(sides, &options, &comparison) == STATUS_OK, "no comparison", "");
    status = report_text.write(stdout, &comparison, &view);
    for (size_t i = 0; i < REPORT_COUNT; i++)
        status = status_worse(status, report_formats[i]->write(stdout, &comparison, &view));
    require(status == STATUS_OK, "it cannot be written", "");
    capture_end(&fuzz_stderr);
    capture_end(&fuzz_stdout);
    if (same)
        require(comparison.counts[VERDICT_REGRESSED] + comparison.counts[VERDICT_IMPROVED] +
                        comparison.counts[VERDICT_MISSING] + comparison.counts[VERDICT_NEW] ==
                    0,
                "a result differs from itself", fuzz_stdout.memory.text);
    comparison_status(&comparison, false);
    comparison_close(&comparison);
}

void fuzz_compare(const char *text, size_t bytes)
{
    const char *end = memchr(text, '\0', bytes);
    const size_t first = end ? (size_t)(end - text) : bytes;
    struct sides sides[SIDES] = {{.count = 0}, {.count = 0}};

    if (side_of_text(text, first, &sides[BASE])) {
        if (side_of_text(end ? end + 1 : text, end ? bytes - first - 1 : bytes, &sides[NEW]))
            compare(sides, !end);
    }
    for (size_t i = 0; i < SIDES; i++)
        sides_close(&sides[i]);
}
