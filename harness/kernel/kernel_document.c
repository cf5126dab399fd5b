/* SPDX-License-Identifier: MIT
 * The options of a foreign document that may reach a compiler, by kind: definitions, optimization,
 * language standard, and folders of includes below the kernel's own. Everything else is refused by
 * name. */
#include "kernel_document.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "text.h"

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define DIGITS  "0123456789"

/* A kind of option. */
struct allowed {
    const char *beginning;
    const char *characters; /* of its value */
    bool folder; /* it is one, below the folder of the kernel file */
    bool apart;  /* the value may be a word of its own */
    bool empty;  /* it may have no value */
};

static const struct allowed rows[] = {
    {.beginning = "-D", .characters = LETTERS DIGITS "_=.+-", .apart = true},
    {.beginning = "-O", .characters = DIGITS, .empty = true},
    {.beginning = "-std=", .characters = LETTERS DIGITS "+"},
    {.beginning = "-I", .characters = LETTERS DIGITS "_.+-/", .folder = true, .apart = true},
};

static bool is_below(const char *folder, const char *kernel_path)
{
    char real[PATH_MAX], above[PATH_MAX];
    size_t length;

    if (!realpath(folder, real) || !realpath(kernel_path, above))
        return false;
    length = (size_t)(strrchr(above, '/') - above);
    return length > 0 && strncmp(real, above, length) == 0 &&
           (real[length] == '/' || real[length] == '\0');
}

static bool is_allowed(const struct allowed *row, const char *value, const char *kernel_path)
{
    if (!value[0] || value[strspn(value, row->characters)])
        return false;
    if (row->folder)
        return is_below(value, kernel_path);
    /* A value that begins with '-' is an option to some program behind nvcc. */
    return value[0] != '-';
}

/* Whether one option is allowed. *rest is what follows it, and moves on behind its value. */
static bool take_option(const char *word, char **rest, const char *kernel_path)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct allowed *const row = &rows[i];
        const char *value = word + strlen(row->beginning);

        if (strncmp(word, row->beginning, strlen(row->beginning)) != 0)
            continue;
        if (!value[0] && row->empty)
            return true;
        while (!value[0] && row->apart && *rest)
            value = strsep(rest, " \t\n");
        return is_allowed(row, value, kernel_path);
    }
    return false;
}

enum status kernel_document_options(const char *options, const char *kernel_path)
{
    char *const text = strdup(options ? options : ""), *rest = text, shown[TEXT_SHOWN_BYTES];
    enum status status = text ? STATUS_OK : log_memory("the compiler's options");

    for (char *word; status == STATUS_OK && (word = strsep(&rest, " \t\n"));)
        if (word[0] && !take_option(word, &rest, kernel_path))
            status =
                log_error(STATUS_USAGE,
                          "%s: the result was measured with the compiler's option %s, and of a "
                          "document only -D, -O, -std and -I below the kernel file's folder "
                          "are used; if you trust it, give all of them by --compiler-options",
                          kernel_path, text_shown(word, shown));
    free(text);
    return status;
}
