/* SPDX-License-Identifier: MIT
 * Parses the line of a command, and prints its help. */
#pragma once

#include "command.h"

/* Parses argv from index 2 on, and runs the command or prints its help. argv[1] is the command's
 * name. STATUS_USAGE, logged, for an unknown option, a bad value (with the limits), or too few or
 * too many arguments. */
enum status command_run(const struct command *command, int argc, char **argv);

/* Prints the options and the details of a command; a paragraph of text, its later lines
 * indented. */
void command_print_help(const struct command *command);
void command_paragraph(const char *text, int indent);
