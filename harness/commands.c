/* SPDX-License-Identifier: MIT
 * The list of commands. Each is the row of a file NAME.c or NAME_command.c, with its options and its function. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cbank.h"
#include "help.h"
#include "log.h"
#include "parse.h"
#include "table.h"
#include "version.h"

/* In the order of help. */
/* clang-format off */
#define COMMANDS(EACH) \
    EACH(run) \
    EACH(show) \
    EACH(counters) \
    EACH(explain) \
    EACH(advise) \
    EACH(compare) \
    EACH(gate) \
    EACH(calibrate) \
    EACH(characterize) \
    EACH(history) \
    EACH(ingest) \
    EACH(forget) \
    EACH(fleet) \
    EACH(export) \
    EACH(contribute) \
    EACH(check) \
    EACH(report) \
    EACH(plot) \
    EACH(convert) \
    EACH(atlas) \
    EACH(cards) \
    EACH(list) \
    EACH(doctor)
/* clang-format on */

#define DECLARED(name) extern const struct command name##_command;
#define LISTED(name)   {#name, &name##_command},

COMMANDS(DECLARED)

static const struct command_row rows[] = {COMMANDS(LISTED)};
static const size_t row_count = sizeof(rows) / sizeof(rows[0]);
static const struct table commands = TABLE("command", rows, row_count);

/* A word in place of a command. */
struct word {
    const char *name;
    void (*print)(const struct table *commands);
};

static void print_version(const struct table *unused)
{
    (void)unused;
    printf("%s %s", tool.name, tool.version);
    if (tool.git_commit)
        printf(" (commit %s%s)", tool.git_commit, tool.git_dirty ? ", with changes" : "");
    putchar('\n');
}

static const struct word words[] = {
    {"help", help_print},         {"--help", help_print},    {"-h", help_print},
    {"--version", print_version}, {"--man", help_print_man}, {"--completion", help_print_completion},
};
static const size_t word_count = sizeof(words) / sizeof(words[0]);

static enum status run_word(int argc, char **argv)
{
    static const struct table word_table = TABLE("word", words, word_count);
    /* "cbank help --man" is one. */
    const char *name = argc > 2 && strcmp(argv[1], "help") == 0 ? argv[2] : argv[1];
    const struct word *word = table_find(&word_table, name);
    const struct command_row *row = table_find(&commands, name);

    if (word)
        word->print(&commands);
    else if (row && name == argv[2] && row->command->start)
        return row->command->start(2, (char *[]){argv[2], "--help"});
    else if (row && name == argv[2])
        command_print_help(row->command);
    else if (row)
        return command_run(row->command, argc, argv);
    return word || row ? STATUS_OK : table_unknown(&commands, name);
}

int cbank_main(int argc, char **argv)
{
    enum status status = STATUS_USAGE;
    bool flushed;

    /* The next opened file would take a closed descriptor. Opening /dev/null the wrong way around makes their use fail instead. */
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
            return STATUS_USAGE;
    if (argc < 2)
        help_print(&commands);
    else
        status = run_word(argc, argv);
    flushed = fflush(stdout) == 0;
    /* The reason for an earlier failed write is not kept. */
    if (!flushed || ferror(stdout))
        status = status_worse(status, log_error(STATUS_USAGE, "cannot write to standard output%s%s",
                                                flushed ? "" : ": ", flushed ? "" : strerror(errno)));
    return status;
}
