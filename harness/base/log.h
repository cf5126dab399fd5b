/* SPDX-License-Identifier: MIT
 * Messages on stderr: "cbank: error: ...", one line each, with the remedy after a semicolon. */
#ifndef CBANK_LOG_H
#define CBANK_LOG_H

#include "status.h"

/* Prints an error and returns `status`, so that `return log_error(...)` says and passes on. */
enum status log_error(enum status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Says, once in a process, what there is no memory for, and returns STATUS_ENVIRONMENT. Where one allocation fails
 * others do, on other threads and in what is tried next: one message is enough. */
enum status log_memory(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints a warning: the run goes on. */
void log_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints a plain message unless quiet. */
void log_note(int quiet, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
