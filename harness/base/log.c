/* SPDX-License-Identifier: MIT */
#include "log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

#include "text.h"

enum { WHAT_BYTES = 256, MESSAGE_BYTES = 16384 };

/* A message is one line, whatever names and texts it contains. */
static void message(const char *kind, const char *format, va_list arguments)
{
    char text[MESSAGE_BYTES];

    vsnprintf(text, sizeof(text), format, arguments);
    text_clean(text);
    fprintf(stderr, "cbank: %s%s\n", kind, text);
}

enum status log_error(enum status status, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    message("error: ", format, arguments);
    va_end(arguments);
    return status;
}

enum status log_memory(const char *format, ...)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    char what[WHAT_BYTES];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    if (!atomic_flag_test_and_set(&said))
        log_error(STATUS_ENVIRONMENT, "out of memory for %s; free some memory, or ask for less at a time", what);
    return STATUS_ENVIRONMENT;
}

void log_warning(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    message("warning: ", format, arguments);
    va_end(arguments);
}

void log_note(int quiet, const char *format, ...)
{
    va_list arguments;

    if (quiet)
        return;
    va_start(arguments, format);
    message("", format, arguments);
    va_end(arguments);
}

enum status status_worse(enum status a, enum status b)
{
    static const int severity[] = {
        [STATUS_OK] = 0, [STATUS_INCONCLUSIVE] = 1, [STATUS_FINDING] = 2, [STATUS_ENVIRONMENT] = 3, [STATUS_USAGE] = 4,
    };

    return severity[a] >= severity[b] ? a : b;
}
