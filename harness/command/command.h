/* SPDX-License-Identifier: MIT
 * Commands: the first word after `cbank` chooses one. A command is a file with its options, their
 * struct, its row and its function; commands.c has the list of rows. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "option.h"
#include "output_options.h"
#include "status.h"

/* An option that stood on the line. */
struct given_option {
    const struct option_row *option;
    const struct option_group *group;
    const char *value; /* NULL for a flag */
};

/* A command line. */
struct invocation {
    int argc;    /* the whole line as typed, from the program's name on, for records */
    char **argv;
    char **arguments; /* words that are not options */
    size_t argument_count;
    const struct given_option *given; /* in the order typed */
    size_t given_count;
};

/* Most options that a short help lists. */
enum { COMMON_OPTIONS_MAX = 12 };

struct command {
    const char *name;
    const char *summary;
    const char *arguments; /* for its usage line: "FILE..."; NULL: it takes none */
    size_t arguments_min, arguments_max;
    option_reads *reads; /* what an argument reads; NULL: as for an option */
    const struct option_group *groups;
    size_t group_count;
    size_t options_bytes;  /* of the struct that its options set */
    /* The options that most people need, for its short help, with commas between. NULL: all of
     * them, for a command of COMMON_OPTIONS_MAX or fewer. */
    const char *common;
    const char *details;   /* paragraphs of its help, an empty line between; NULL: none */
    /* Runs the command. `options` is the struct of its options; the caller releases it afterwards.
     * Returns the exit code. */
    enum status (*run)(const void *options, const struct invocation *invocation);
    /* Replaces `run` for a command that parses its own line, including --help. words[0] is its
     * name. NULL: `run` is called. */
    enum status (*start)(size_t count, char **words);
};

/* Initializer of a command: an array of groups. */
#define OPTION_GROUPS(array) .groups = (array), .group_count = sizeof(array) / sizeof((array)[0])

/* Writes the words of argv with blanks between, as far as there is room. */
void command_line(const struct invocation *invocation, char *out, size_t bytes);

/* The purpose of a command: its heading in the list of commands. */
enum command_job {
    JOB_MEASURE,
    JOB_UNDERSTAND,
    JOB_COMPARE,
    JOB_STORE,
    JOB_PUBLISH,
    JOB_MACHINE,
    COMMAND_JOBS
};

/* A row of the table of commands, which commands.c has. */
struct command_row {
    const char *name;
    enum command_job job;
    const struct command *command;
};
