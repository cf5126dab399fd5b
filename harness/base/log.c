/* SPDX-License-Identifier: MIT */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>

static void message(const char *kind, const char *format, va_list arguments)
{
    flockfile(stderr);
    fprintf(stderr, "cbank: %s", kind);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    funlockfile(stderr);
}

enum status log_error(enum status status, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    message("error: ", format, arguments);
    va_end(arguments);
    return status;
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
    static const int gravity[] = {
        [STATUS_OK] = 0, [STATUS_INCONCLUSIVE] = 1, [STATUS_FINDING] = 2, [STATUS_ENVIRONMENT] = 3, [STATUS_USAGE] = 4,
    };

    return gravity[a] >= gravity[b] ? a : b;
}
