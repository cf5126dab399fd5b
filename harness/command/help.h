/* SPDX-License-Identifier: MIT
 * Help of the program and of a command, the man page, and completion. All of them follow from the rows of commands.
 * `commands` is the table of struct command_row. */
#ifndef CBANK_HELP_H
#define CBANK_HELP_H

#include "command.h"
#include "table.h"

/* Prints the summary of the program and its commands. */
void help_print(const struct table *commands);

/* Prints the man page (roff), or the completion script for bash. Both are committed as printed. */
void help_print_man(const struct table *commands);
void help_print_completion(const struct table *commands);

#endif
