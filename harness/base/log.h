/* SPDX-License-Identifier: MIT
 * Messages on stderr: "cbank: error: ...", one line each, with the remedy after a semicolon. */
#pragma once

#include <stddef.h>

#include "status.h"

/* Prints a message of that kind and returns `status`. */
enum status log_message(const char *kind, enum status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Prints an error and returns `status`, for use as `return log_error(...)`. */
#define log_error(status, ...) log_message("error: ", status, __VA_ARGS__)

/* Prints a warning: the program continues. */
#define log_warning(...) ((void)log_message("warning: ", STATUS_OK, __VA_ARGS__))

/* Prints a message unless `quiet` is set. */
#define log_note(quiet, ...) ((void)((quiet) ? STATUS_OK : log_message("", STATUS_OK, __VA_ARGS__)))

/* Until it is called with NULL, the first error goes into `text` and not to stderr, and the others
 * are dropped. For a command that answers many questions and reports the error of each in its
 * answer. */
void log_capture(char *text, size_t bytes);

/* Logs, once in a process, the purpose for which memory is missing, and returns STATUS_ENVIRONMENT.
 * After one failed allocation others fail, too: one message is enough. */
enum status log_memory(const char *format, ...) __attribute__((format(printf, 1, 2)));
