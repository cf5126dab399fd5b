/* SPDX-License-Identifier: MIT
 * The help of a command from its rows: options by topic, in the order of the topics. Without
 * --help=all only those that the command calls common are printed, and a last line counts the
 * others. */
#include "help.h"

#include <stdio.h>
#include <string.h>

#include "log.h"
#include "text_print.h"

enum { HELP_COLUMN = 29 };

const char *const option_topic_headings[OPTION_TOPICS] = {
    [TOPIC_NONE] = "Others",
    [TOPIC_PLAN] = "Cells to measure or predict",
    [TOPIC_PARAMETERS] = "Parameters of patterns, sources and workloads",
    [TOPIC_KERNEL] = "A kernel of yours",
    [TOPIC_GPU] = "Which GPU",
    [TOPIC_MEASURING] = "How to measure, and how long",
    [TOPIC_RESUME] = "Interrupted runs",
    [TOPIC_VERDICT] = "Verdict",
    [TOPIC_VIEW] = "View",
    [TOPIC_OUTPUT] = "Output",
};

void command_paragraph(const char *text, int indent)
{
    struct text_wrap wrap = {.stream = stdout,
                             .width = TEXT_WIDTH,
                             .column = indent,
                             .indent = indent};

    text_wrap(&wrap, text);
    putchar('\n');
}

bool command_lists(const struct command *command, const struct option_row *row)
{
    const size_t length = strlen(row->name);

    if (!command->common)
        return true;
    for (const char *name = command->common; *name; name += *name == ',') {
        const size_t bytes = strcspn(name, ",");

        if (bytes == length && strncmp(name, row->name, length) == 0)
            return true;
        name += bytes;
    }
    return false;
}

static void print_option(const struct option_row *row)
{
    char name[80];

    snprintf(name, sizeof(name), "  --%s%s%s", row->name, row->argument ? "=" : "",
             row->argument ? row->argument : "");
    printf("%-*s", HELP_COLUMN, name);
    if (strlen(name) >= HELP_COLUMN)
        printf("\n%*s", HELP_COLUMN, "");
    command_paragraph(row->help, HELP_COLUMN);
}

/* Prints the options of one topic below its heading: all, or those of the short help. Returns how
 * many it left out. Sets *sizes if one that it printed takes sizes. */
static size_t print_topic(const struct command *command, enum option_topic topic, bool all,
                          bool *sizes)
{
    size_t printed = 0, left_out = 0;

    for (size_t g = 0; g < command->group_count; g++)
        for (size_t i = 0; i < command->groups[g].count; i++) {
            const struct option_row *row = &command->groups[g].rows[i];

            if (row->hidden || row->topic != topic)
                continue;
            if (!all && !command_lists(command, row)) {
                left_out++;
                continue;
            }
            if (printed++ == 0)
                printf("\n%s:\n", option_topic_headings[topic]);
            *sizes = *sizes || row->kind == &option_integers;
            print_option(row);
        }
    return left_out;
}

enum status command_print_help(const struct command *command, const char *which)
{
    char text[TEXT_PARAGRAPH_BYTES];
    const bool all = which && strcmp(which, "all") == 0;
    bool sizes = false;
    size_t left_out = 0;

    if (which && !all)
        return log_error(STATUS_USAGE, "--help: '%s' is not all; --help=all lists every option",
                         which);
    snprintf(text, sizeof(text), "Usage: cbank %s [OPTION...] %s", command->name,
             command->arguments ? command->arguments : "");
    command_paragraph(text, 0);
    command_paragraph(command->summary, 0);
    for (int topic = TOPIC_NONE + 1; topic < OPTION_TOPICS; topic++)
        left_out += print_topic(command, (enum option_topic)topic, all, &sizes);
    left_out += print_topic(command, TOPIC_NONE, all, &sizes);
    putchar('\n');
    /* An empty line divides paragraphs; other ends of lines are those of the source. */
    for (const char *rest = command->details; rest && *rest; rest += strspn(rest, "\n")) {
        const char *end = strstr(rest, "\n\n");
        const size_t bytes = end ? (size_t)(end - rest) : strlen(rest);

        snprintf(text, sizeof(text), "%.*s", (int)bytes, rest);
        for (char *c = text; (c = strchr(c, '\n'));)
            *c = ' ';
        command_paragraph(text, 0);
        putchar('\n');
        rest += bytes;
    }
    if (sizes)
        command_paragraph("Sizes: k, M, G are powers of 1000 (12.8M is 12,800,000); K, KB, KiB, "
                          "MB, MiB, GB, GiB are powers of 1024 (64KB is 65,536); 0x400 is "
                          "hexadecimal.",
                          0);
    command_paragraph("Exit codes: 0 done; 1 a finding; 2 usage, I/O or malformed input; 3 the "
                      "environment cannot, or nothing was measured; 4 inconclusive: under --strict "
                      "one cell, else every "
                      "cell. A finding is wrong output, a failed cell, a wrong exact counter, "
                      "uncorrected memory errors, or a cell that regressed, is missing or is "
                      "invalid. An interrupted run saves its results and ends by the signal.",
                      0);
    if (left_out)
        printf("\n%zu more: cbank %s --help=all\n", left_out, command->name);
    return STATUS_OK;
}
