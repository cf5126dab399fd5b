/* SPDX-License-Identifier: MIT
 * Help: of the program, of a command, as a man page, and as completion. All follow from the rows of commands. `commands`
 * is the table of them, of struct command_row. */
#ifndef CBANK_HELP_H
#define CBANK_HELP_H

#include "command.h"
#include "table.h"

/* Prints what the program is, and its commands. */
void help_print(const struct table *commands);

/* Prints the man page (roff), or the script of completion for bash. Both are committed as they are printed. */
void help_print_man(const struct table *commands);
void help_print_completion(const struct table *commands);

#endif
