/* SPDX-License-Identifier: MIT
 * Command lines: the words behind `cbank`, one a line, go through the options of the command that
 * the first names, or of any. Commands themselves do not run. */
#include <stdlib.h>
#include <string.h>

/* The list of commands is that file's own. */
#define commands_main fuzzed_main
#include "../../harness/commands.c" /* NOLINT(bugprone-suspicious-include) */
#undef commands_main

#include "fuzz.h"

enum { WORDS_MAX = 64 };

/* In place of what the command does. */
static enum status run_nothing(const void *options, const struct invocation *invocation)
{
    char line[256];

    (void)options;
    command_line(invocation, line, sizeof(line));
    return STATUS_OK;
}

static void parse(const struct command *command, int argc, char **argv)
{
    struct command parsed = *command;
    enum status status;

    if (command->start) /* its words go to the analysis package, unread */
        return;
    parsed.run = run_nothing;
    capture_begin(&fuzz_stdout);
    capture_begin(&fuzz_stderr);
    status = command_run(&parsed, argc, argv);
    capture_end(&fuzz_stderr);
    capture_end(&fuzz_stdout);
    require(status == STATUS_OK || status == STATUS_USAGE, "the status is neither 0 nor 2",
            fuzz_stderr.memory.text);
    require((status == STATUS_OK) == (fuzz_stderr.memory.bytes == 0),
            "an error without a message, or the reverse", fuzz_stderr.memory.text);
}

void fuzz_command(const char *text, size_t bytes)
{
    static char program[] = "cbank";
    char *copy = strndup(text, bytes), *rest = copy, *argv[WORDS_MAX + 2] = {program}, *word;
    const struct command_row *row;
    int argc = 1;

    while (argc <= WORDS_MAX && (word = strsep(&rest, "\n")))
        argv[argc++] = word;
    row = table_find(&commands, argv[1]);
    if (row) {
        parse(row->command, argc, argv);
    } else {
        capture_begin(&fuzz_stderr);
        table_unknown(&commands, argv[1]);
        capture_end(&fuzz_stderr);
        parse(rows[bytes % row_count].command, argc, argv);
    }
    free(copy);
}
