/* SPDX-License-Identifier: MIT
 * report is a script, which draws with matplotlib: found here, and run in place of the program. */
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "command.h"
#include "log.h"
#include "script.h"

struct report_options {
    const char *output_path, *library_path;
    bool interactive;
};

static const struct option_row rows[] = {
    {.name = "output",
     .argument = "DIR",
     .help = "folder of the page, made where there is none",
     .kind = &option_text,
     .offset = offsetof(struct report_options, output_path),
     .letter = 'o'},
    {.name = "interactive",
     .help = "filter cells, and see them in a chart, by a script in the page (needs libjs-d3)",
     .kind = &option_flag,
     .offset = offsetof(struct report_options, interactive)},
    {.name = "library",
     .argument = "FILE",
     .help = "d3.min.js for --interactive (default: the distribution's)",
     .kind = &option_text,
     .offset = offsetof(struct report_options, library_path)},
};

static const struct option_group groups[] = {
    OPTION_GROUP(rows, 0),
};

/* Words of the script: Python, -B (leaves no bytecode where it is installed), the script, its options, "--", files, NULL.
 * Python's own is for the caller to set. The caller's, to free; NULL when out of memory. */
static const char **script_words(const struct report_options *options, const struct invocation *invocation,
                                 const char *program, const char *script)
{
    const char *fixed[] = {"-B", script, "--program", program, "--output", options->output_path};
    const char **words = calloc(invocation->argument_count + 12, sizeof(*words));
    size_t count = 1;

    if (!words)
        return NULL;
    for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
        words[count++] = fixed[i];
    if (options->interactive)
        words[count++] = "--interactive";
    if (options->library_path) {
        words[count++] = "--library";
        words[count++] = options->library_path;
    }
    words[count++] = "--";
    for (size_t i = 0; i < invocation->argument_count; i++)
        words[count++] = invocation->arguments[i];
    return words;
}

static enum status report(const void *parsed, const struct invocation *invocation)
{
    const struct report_options *options = parsed;
    char program[PATH_MAX], script[PATH_MAX];
    const char **words;
    enum status status;

    if (!options->output_path)
        return log_error(STATUS_USAGE, "report needs a folder to write to: -o DIR; try cbank report --help");
    status = script_find("report.py", program, script);
    if (status != STATUS_OK)
        return status;
    words = script_words(options, invocation, program, script);
    if (!words)
        return log_memory("what the report runs");
    words[0] = script_python("matplotlib, jinja2");
    if (words[0])
        execvp(words[0], (char *const *)words);
    free(words);
    return log_error(STATUS_ENVIRONMENT,
                     "a page needs python3 with matplotlib and jinja2; install python3-matplotlib and "
                     "python3-jinja2 (scripts/setup.sh plots)");
}

const struct command report_command = {
    .name = "report",
    .summary = "Write a static page of results, characterizations and comparisons, with figures",
    .arguments = "FILE|DIR...",
    .arguments_min = 1,
    .arguments_max = 1000,
    .groups = groups,
    .group_count = sizeof(groups) / sizeof(groups[0]),
    .options_bytes = sizeof(struct report_options),
    .details =
        "FILEs are results, characterizations, comparisons, explanations, cards, verdicts on fleets and histories; a DIR is all\n"
        "files of one chip, and the page of several chips begins with what is known of each. The page has summary, environment,\n"
        "matrix, characterization, comparison where two results (or a comparison) are given, fleet, history, explanation, every\n"
        "figure as SVG beside its table and its CSV, and a page with all cells of each result, which each number leads to. What\n"
        "cannot be drawn is named, with why. The text is there first, figures follow; these, explanations and pages of cells\n"
        "are kept in ~/.cache/cbank/figures, or where XDG_CACHE_HOME says. Needs python3 with matplotlib and jinja2. Files of\n"
        "the page are replaced, others stay.",
    .run = report,
};
