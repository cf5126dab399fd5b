/* SPDX-License-Identifier: MIT
 * The help of a command. */
#pragma once

#include "command.h"

/* The headings of help, in its order, but for TOPIC_NONE, which comes last. */
extern const char *const option_topic_headings[OPTION_TOPICS];

/* Whether the short help of a command lists an option of it. */
bool command_lists(const struct command *command, const struct option_row *row);

/* Prints what a command does, the options that most people need, by topic, and the details. `which`
 * is "all" for all options, or NULL. STATUS_USAGE, logged, for another word. */
enum status command_print_help(const struct command *command, const char *which);

/* Prints a paragraph of text, its later lines indented. */
void command_paragraph(const char *text, int indent);
