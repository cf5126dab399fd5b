/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "log.h"
#include "options.h"
#include "table.h"
#include "version.h"

/* clang-format off */
static const struct command commands[] = {
    {.name = "run", .summary = "Run the access-pattern matrix, verify it, count it, write a JSON result",
     .options = OPTIONS_PLAN | OPTIONS_MEASURE | OPTIONS_CARD | OPTIONS_OUTPUT | OPTIONS_GATE | OPTIONS_SHOW,
     .run = command_run},
    {.name = "show", .summary = "Print the table of a result file", .arguments = "FILE...",
     .options = OPTIONS_SHOW, .arguments_min = 1, .arguments_max = 1000, .run = command_show},
    {.name = "explain", .summary = "Print measured beside modelled: where the time of each cell goes",
     .arguments = "FILE...", .options = OPTIONS_EXPLAIN | OPTIONS_CARD | OPTIONS_SHOW, .arguments_min = 1,
     .arguments_max = 1000, .run = command_explain},
    {.name = "compare", .summary = "Compare results cell by cell: is NEW worse than BASE?", .arguments = "BASE NEW",
     .options = OPTIONS_COMPARE | OPTIONS_GATE | OPTIONS_SHOW, .arguments_min = 2, .arguments_max = 2,
     .run = command_compare},
    {.name = "calibrate", .summary = "Measure how much each cell differs between processes, for compare",
     .options = OPTIONS_PLAN | OPTIONS_MEASURE | OPTIONS_CARD | OPTIONS_CALIBRATE | OPTIONS_SHOW,
     .run = command_calibrate},
    {.name = "characterize", .summary = "Find out how the load paths of a GPU work: latencies, caches, serialization",
     .options = OPTIONS_CHARACTERIZE, .run = command_characterize},
    {.name = "history", .summary = "Print one line a run, or the series of one cell", .arguments = "PATH...",
     .options = OPTIONS_HISTORY | OPTIONS_SHOW, .arguments_min = 1, .arguments_max = 1000, .run = command_history},
    {.name = "export", .summary = "Print results in the format of another tool", .arguments = "FILE...",
     .options = OPTIONS_EXPORT, .arguments_min = 1, .arguments_max = 1000, .run = command_export},
    {.name = "report", .summary = "Write a static page of results, characterizations and comparisons, with figures",
     .arguments = "FILE...", .options = OPTIONS_REPORT, .arguments_min = 1, .arguments_max = 1000,
     .run = command_report},
    {.name = "list",
     .summary = "List workloads, paths, patterns, regimes, counters, engines, devices or chips; all without a name",
     .arguments = "[TABLE]", .options = OPTIONS_LIST, .arguments_max = 1, .run = command_list},
    {.name = "doctor", .summary = "Say what this machine can do, and how to mend what it cannot",
     .options = OPTIONS_SHOW, .run = command_doctor},
};
/* clang-format on */
static const size_t command_count = sizeof(commands) / sizeof(commands[0]);

static const struct table command_table = TABLE("command", commands, command_count);

static void print_help(void)
{
    puts("Usage: cbank COMMAND [OPTION...]\n"
         "What reading a small table costs on an NVIDIA GPU: patterns by load paths, checked and counted.\n");
    for (size_t i = 0; i < command_count; i++)
        printf("  %-13s %s\n", commands[i].name, commands[i].summary);
    puts("\n  cbank COMMAND --help says more; cbank --version names the version.\n"
         "Exit codes: 0 done; 1 a finding; 2 usage, I/O or malformed input; 3 the environment cannot;\n"
         "4 inconclusive, under --strict.");
}

static enum status run_command(int argc, char **argv)
{
    const struct command *command = table_find(&command_table, argv[1]);
    struct options options;
    enum status status;
    bool done;

    if (!command)
        return table_unknown(&command_table, argv[1]);

    /* argp moves the words of argv about: what is recorded is argv as typed. */
    char *words[argc];

    memcpy(words, argv, (size_t)argc * sizeof(*argv));
    status = options_parse(command, argc - 1, words + 1, &options, &done);
    if (status != STATUS_OK || done)
        return status;
    status = command->run(&options, argc, argv);
    options_close(&options);
    return status;
}

int main(int argc, char **argv)
{
    enum status status = STATUS_OK;

    if (argc < 2) {
        print_help();
        return STATUS_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0)
        print_help();
    else if (strcmp(argv[1], "--version") == 0)
        printf("%s %s\n", tool.name, tool.version);
    else
        status = run_command(argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout))
        status = status_worse(status, log_error(STATUS_USAGE, "cannot write to standard output"));
    return status;
}
