/* SPDX-License-Identifier: MIT
 * Messages on stderr: "cbank: error: ...", one line each, with the remedy after a semicolon. */
#ifndef CBANK_LOG_H
#define CBANK_LOG_H

#include "status.h"

/* Prints an error and returns `status`, for use as `return log_error(...)`. */
enum status log_error(enum status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Logs, once in a process, the purpose for which memory is missing, and returns STATUS_ENVIRONMENT. After one failed
 * allocation others fail, too: one message is enough. */
enum status log_memory(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints a warning: the program continues. */
void log_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints a message unless `quiet` is set. */
void log_note(int quiet, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
