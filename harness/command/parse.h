/* SPDX-License-Identifier: MIT
 * Parses the line of a command. */
#pragma once

#include "command.h"

enum { OPTIONS_MAX = 128 }; /* of a command */

/* Parses argv from index 2 on, and runs the command or prints its help. argv[1] is the command's
 * name. STATUS_USAGE, logged, for an unknown option, a bad value (with the limits), or too few or
 * too many arguments. */
enum status command_run(const struct command *command, int argc, char **argv);
