/* SPDX-License-Identifier: MIT
 * Messages, and which of two statuses is worse. The numbers of enum status are exit codes, whose
 * order says nothing: severity[] has the order. */
#include "log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

#include "text.h"

enum { WHAT_BYTES = 256, MESSAGE_BYTES = 16384 };

static struct {
    char *text; /* NULL: messages go to stderr */
    size_t bytes;
} captured;

void log_capture(char *text, size_t bytes)
{
    captured.text = text;
    captured.bytes = bytes;
    if (text)
        *text = '\0';
}

enum status log_message(const char *kind, enum status status, const char *format, ...)
{
    char text[MESSAGE_BYTES];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    /* a message is one line, whatever names and texts it contains */
    text_clean(text, sizeof(text));
    if (!captured.text || status == STATUS_OK)
        fprintf(stderr, "cbank: %s%s\n", kind, text);
    else if (!*captured.text)
        snprintf(captured.text, captured.bytes, "%s", text);
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
        log_error(STATUS_ENVIRONMENT,
                  "out of memory for %s; free some memory, or ask for less at a time", what);
    return STATUS_ENVIRONMENT;
}

enum status status_worse(enum status a, enum status b)
{
    static const int severity[] = {
        [STATUS_OK] = 0,          [STATUS_INCONCLUSIVE] = 1, [STATUS_FINDING] = 2,
        [STATUS_ENVIRONMENT] = 3, [STATUS_USAGE] = 4,
    };

    return severity[a] >= severity[b] ? a : b;
}
