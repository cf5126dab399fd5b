/* SPDX-License-Identifier: MIT */
#include "written.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "log.h"
#include "option.h"

/* Whether a file that is written would take the place of another one, or of what is written there, too. */
static bool is_same_file(const char *written, const char *other)
{
    struct stat one, two;

    if (stat(written, &one) != 0)
        return strcmp(written, other) == 0;
    return S_ISREG(one.st_mode) && stat(other, &two) == 0 && one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

/* Whether an argument, or one of several names with commas between, is that file. */
static bool is_argument(const struct invocation *invocation, const char *written)
{
    bool same = false;

    for (size_t i = 0; !same && i < invocation->argument_count; i++) {
        char name[PATH_MAX];
        const char *rest = invocation->arguments[i];

        same = is_same_file(written, rest);
        for (size_t bytes; !same && *rest; rest += bytes + (rest[bytes] == ',')) {
            bytes = strcspn(rest, ",");
            snprintf(name, sizeof(name), "%.*s", (int)bytes, rest);
            same = is_same_file(written, name);
        }
    }
    return same;
}

/* Whether another option names the file of one. */
static bool is_of_another(const struct invocation *invocation, const struct given_option *given)
{
    bool same = false;

    for (size_t i = 0; !same && i < invocation->given_count; i++) {
        const struct given_option *other = &invocation->given[i];

        same = other->option != given->option && other->option->kind == &option_text &&
               is_same_file(given->value, other->value);
    }
    return same;
}

enum status written_check(const struct invocation *invocation)
{
    for (size_t i = 0; i < invocation->given_count; i++) {
        const struct given_option *given = &invocation->given[i];

        if (given->option->written && (is_argument(invocation, given->value) || is_of_another(invocation, given)))
            return log_error(STATUS_USAGE, "--%s: %s is named for something else, too; give another file",
                             given->option->name, given->value);
    }
    return STATUS_OK;
}
