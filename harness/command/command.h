/* SPDX-License-Identifier: MIT
 * Commands: what the word behind `cbank` chooses. A command is a file with its options, their struct, its row and its
 * function; commands.c has the list of rows. */
#ifndef CBANK_COMMAND_H
#define CBANK_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "look.h"
#include "option.h"
#include "status.h"

/* An option that stood on the line. */
struct given_option {
    const struct option_row *option;
    const struct option_group *group;
    const char *value; /* NULL for a flag */
};

/* A command line. */
struct invocation {
    int argc;    /* the whole line as it was typed, from the program's name on, for records */
    char **argv;
    char **arguments; /* what is no option */
    size_t argument_count;
    const struct given_option *given; /* in the order typed */
    size_t given_count;
};

struct command {
    const char *name;
    const char *summary;
    const char *arguments; /* of its usage line: "FILE..."; NULL: it takes none */
    size_t arguments_min, arguments_max;
    const struct table *argument_table; /* whose rows they name, for completion and the man page; NULL: none */
    const struct option_group *groups;
    size_t group_count;
    size_t options_bytes;  /* of the struct that its options set */
    const char *details;   /* paragraphs for the man page, an empty line between; NULL: none */
    /* Does it. `options` is that struct; what it owns is released afterwards. Returns the exit code. */
    enum status (*run)(const void *options, const struct invocation *invocation);
    /* In place of `run`, for a command that parses its own line, --help too: words[0] is its name. NULL: `run` does it. */
    enum status (*start)(size_t count, char **words);
};

/* Parses argv[1 .. argc - 1], argv[1] being the command's name, and runs it, or prints its help. STATUS_USAGE, logged,
 * for an unknown option (with the closest), a bad value (with the limits), or too few or too many arguments. */
enum status command_run(const struct command *command, int argc, char **argv);

/* Prints the options of a command; a paragraph of text, its later lines indented. */
void command_print_help(const struct command *command);
void command_paragraph(const char *text, int indent);

/* Writes the words of argv with blanks between, as far as there is room. */
void command_line(const struct invocation *invocation, char *out, size_t bytes);

/* A row of the table of commands, which commands.c has. */
struct command_row {
    const char *name;
    const struct command *command;
};

#endif
