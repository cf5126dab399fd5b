/* SPDX-License-Identifier: MIT
 * No output takes the place of an input, or of another output. Which options read and write is said
 * by their rows (`file`, `reads`), and what arguments are by the command (`reads`). */
#pragma once

#include "command.h"
#include "texts.h"

/* Adds the files that a value names: itself, each part of a list with commas, and the .json files
 * of those that are folders. For rows and commands without a function of their own. */
option_reads file_check_list;

/* Refuses an output file that the command reads, or writes twice, by whatever name: another path,
 * a symbolic or a hard link. Nor may one of the temporary files beside an output be an input.
 * `unsaid`: options that were not given, and have the values of their rows. STATUS_USAGE, logged.
 */
enum status file_check(const struct command *command, const struct invocation *invocation,
                       const struct given_option *unsaid, size_t unsaid_count);
