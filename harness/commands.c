/* SPDX-License-Identifier: MIT
 * The list of commands. Each is the row of a file NAME.c or NAME_command.c, with its options and
 * its function. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "commands.h"
#include "help.h"
#include "log.h"
#include "parse.h"
#include "table.h"
#include "version.h"

enum { SUMMARY_COLUMN = 16, STACK_KIB_MIN = 512, FILES_MIN = 64 };

/* In the order of help. */
/* clang-format off */
#define COMMANDS(EACH) \
    EACH(run, JOB_MEASURE) \
    EACH(spaces, JOB_MEASURE) \
    EACH(characterize, JOB_MEASURE) \
    EACH(calibrate, JOB_MEASURE) \
    EACH(contribute, JOB_MEASURE) \
    EACH(show, JOB_UNDERSTAND) \
    EACH(counters, JOB_UNDERSTAND) \
    EACH(explain, JOB_UNDERSTAND) \
    EACH(advise, JOB_UNDERSTAND) \
    EACH(compare, JOB_COMPARE) \
    EACH(gate, JOB_COMPARE) \
    EACH(normal, JOB_COMPARE) \
    EACH(history, JOB_COMPARE) \
    EACH(ingest, JOB_STORE) \
    EACH(fleet, JOB_STORE) \
    EACH(check, JOB_PUBLISH) \
    EACH(report, JOB_PUBLISH) \
    EACH(plot, JOB_PUBLISH) \
    EACH(convert, JOB_PUBLISH) \
    EACH(atlas, JOB_PUBLISH) \
    EACH(doctor, JOB_MACHINE) \
    EACH(list, JOB_MACHINE)
/* clang-format on */

#define DECLARED(name, job) extern const struct command name##_command;
#define LISTED(name, job)   {#name, job, &name##_command},

COMMANDS(DECLARED)

static const struct command_row rows[] = {COMMANDS(LISTED)};
static const size_t row_count = sizeof(rows) / sizeof(rows[0]);
/* Their headings, in the order of help. */
static const char *const job_headings[COMMAND_JOBS] = {
    [JOB_MEASURE] = "Measure",           [JOB_UNDERSTAND] = "Understand",
    [JOB_COMPARE] = "Compare and gate",  [JOB_STORE] = "Store and fleet",
    [JOB_PUBLISH] = "Check and publish", [JOB_MACHINE] = "This machine",
};

static const struct table commands = TABLE("command", rows, row_count);

static void print_commands(void)
{
    command_paragraph("Usage: cbank COMMAND [OPTION...]", 0);
    command_paragraph("Measures the cost of reading a small table on an NVIDIA GPU: patterns by "
                      "load paths, checked and counted.",
                      0);
    for (size_t job = 0; job < COMMAND_JOBS; job++) {
        printf("\n%s:\n", job_headings[job]);
        for (size_t i = 0; i < row_count; i++) {
            if (rows[i].job != job)
                continue;
            printf("  %-13s ", rows[i].name);
            command_paragraph(rows[i].command->summary, SUMMARY_COLUMN);
        }
    }
    putchar('\n');
    command_paragraph("cbank COMMAND --help explains a command, and so does cbank help COMMAND; "
                      "--help=all lists every option. cbank --version prints the version.",
                      0);
    command_paragraph("Exit codes: 0 done; 1 a finding; 2 usage, I/O or malformed input; 3 the "
                      "environment cannot; 4 inconclusive.",
                      0);
}

int commands_main(int argc, char **argv)
{
    /* "cbank help run" is "cbank run --help". */
    const bool helps = argc > 2 && strcmp(argv[1], "help") == 0;
    const char *word = argc < 2 ? "" : argv[1 + helps];
    const struct command_row *row = table_find(&commands, word);
    enum status status = STATUS_OK;
    struct rlimit stack, files;
    bool flushed;

    /* The next opened file would take a closed descriptor. Opening /dev/null the wrong way around
     * makes their use fail instead. */
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
            return STATUS_USAGE;
    signal(SIGCHLD, SIG_DFL); /* ignored, it would take the exit codes of children away */
    /* a file as large as ulimit -f allows is a full disk: the write fails */
    signal(SIGXFSZ, SIG_IGN);
    if (getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur < STACK_KIB_MIN << 10)
        return log_error(STATUS_ENVIRONMENT,
                         "the stack may have %zu KiB, and cbank needs %d; raise it: ulimit -s 8192",
                         (size_t)stack.rlim_cur >> 10, STACK_KIB_MIN);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < FILES_MIN)
        return log_error(STATUS_ENVIRONMENT,
                         "%zu files may be open, and cbank needs %d; raise it: ulimit -n 1024",
                         (size_t)files.rlim_cur, FILES_MIN);
    if (argc < 2 || strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 ||
        strcmp(word, "-h") == 0) {
        print_commands();
        status = argc < 2 ? STATUS_USAGE : STATUS_OK;
    } else if (strcmp(word, "--version") == 0) {
        printf("%s %s", tool.name, tool.version);
        if (tool.git_commit)
            printf(" (commit %s%s)", tool.git_commit, tool.git_dirty ? ", with changes" : "");
        putchar('\n');
    } else if (!row) {
        status = table_unknown(&commands, word);
    } else if (helps) {
        status = command_run(row->command, 3, (char *[]){argv[0], argv[2], "--help", NULL});
    } else {
        status = command_run(row->command, argc, argv);
    }
    flushed = fflush(stdout) == 0;
    /* The reason for an earlier failed write is not kept. */
    if (!flushed || ferror(stdout))
        status =
            status_worse(status, log_error(STATUS_USAGE, "cannot write to standard output%s%s",
                                           flushed ? "" : ": ", flushed ? "" : strerror(errno)));
    return status;
}
