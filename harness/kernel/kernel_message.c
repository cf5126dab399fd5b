/* SPDX-License-Identifier: MIT
 * What a compiler's messages say of a mistake in a kernel file, in one line, at the user's line:
 *
 *   an error in the kernel file                its line
 *   one in cbank.cuh, of nvcc                  the line that instantiated it: "at line 20 of k.cu"
 *   one in cbank.cuh, of gcc                   the same, before the error: "k.cu:20:"
 *
 * Some errors are known: what a compiler says of them is far from what is to be done. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel_parts.h"
#include "text.h"

static const char error_mark[] = "): error: ";

/* Errors that are known, by a part of the message of nvcc or of gcc, which may be of any line. */
static const struct {
    const char *words, *text;
    bool of_space; /* the names of memory spaces follow */
} known[] = {
    {"the kernel file needs #include <cbank.cuh>",
     "the file does not include cbank.cuh; begin it with #include <cbank.cuh>", false},
    {"one_CBANK_CASE_a_file\" has already been defined",
     "a second CBANK_CASE; a file has one: write the other into a file of its own", false},
    {"redefinition of \u2018class {anonymous}::one_CBANK_CASE_a_file",
     "a second CBANK_CASE; a file has one: write the other into a file of its own", false},
    {"one_CBANK_CASE_a_file::launch\" matches",
     "launch takes a kernel with its tables, blocks and threads: launch(kernel<TABLE>, blocks, "
     "threads)(arguments ...)",
     false},
    {"one_CBANK_CASE_a_file::output\" matches", "name the type of an element: output<float>(count)",
     false},
    {"one_CBANK_CASE_a_file::input\" matches", "name the type of an element: input<float>(count)",
     false},
    {"one_CBANK_CASE_a_file::inout\" matches", "name the type of an element: inout<float>(count)",
     false},
    {"one_CBANK_CASE_a_file::entries\" matches", "name the table: entries<TABLE>(contents)", false},
    {"namespace \"cbank\" has no member", "the last word of CBANK_TABLE is no memory space", true},
    {"is not a member of \u2018cbank\u2019", "the last word of CBANK_TABLE is no memory space",
     true},
};

enum { KNOWN = sizeof(known) / sizeof(known[0]) };

/* Adds the names of memory spaces. */
static void list_spaces(char out[KERNEL_REASON_BYTES])
{
    for (size_t i = 0; i < CBANK_SPACE_COUNT; i++)
        text_join(out, KERNEL_REASON_BYTES, i ? ", " : "; valid: ", "%s", kernel_space_names[i]);
}

/* The last line of the file that nvcc tells before `end`: "at line 20 of k.cu"; 0: there is none.
 */
static unsigned long last_line(const char *text, const char *end, const char *path)
{
    static const char told[] = "at line ", between[] = " of ";
    unsigned long line = 0;

    for (const char *found = text; (found = strstr(found, told)) && found < end;) {
        char *behind;
        const unsigned long number = strtoul(found += strlen(told), &behind, 10);

        if (strncmp(behind, between, strlen(between)) == 0 &&
            strncmp(behind + strlen(between), path, strlen(path)) == 0)
            line = number;
    }
    return line;
}

/* The same of gcc, which tells it before the error: "k.cu:20:". */
static unsigned long line_before(const char *text, const char *end, const char *path)
{
    unsigned long line = 0;

    for (const char *found = text; (found = strstr(found, path)) && found < end;) {
        found += strlen(path);
        if (*found == ':')
            line = strtoul(found + 1, NULL, 10);
    }
    return line;
}

/* The line of the kernel file that an error is about; 0: the messages do not tell. */
static unsigned long line_of(const char *messages, const char *error, const char *path)
{
    const char *next = strstr(error + strlen(error_mark), error_mark);
    const char *begin = error;
    unsigned long line;

    while (begin > messages && begin[-1] != '\n')
        begin--;
    if (strncmp(begin, path, strlen(path)) == 0 && begin[strlen(path)] == '(')
        return strtoul(begin + strlen(path) + 1, NULL, 10);
    line = last_line(error, next ? next : error + strlen(error), path);
    return line ? line : line_before(messages, error, path);
}

/* What the error says, without the words around the text of a static_assert. */
static void put_text(const char *error, char out[KERNEL_REASON_BYTES])
{
    static const char asserted[] = "static assertion failed with \"", ours[] = "CBANK_";
    const char *text = error + strlen(error_mark), *colon;

    if (strncmp(text, asserted, strlen(asserted)) == 0) {
        text += strlen(asserted);
        colon = strncmp(text, ours, strlen(ours)) == 0 ? strstr(text, ": ") : NULL;
        text = colon ? colon + 2 : text;
        text_join(out, KERNEL_REASON_BYTES, "", "%.*s", (int)strcspn(text, "\"\n"), text);
    } else {
        text_join(out, KERNEL_REASON_BYTES, "", "%.*s", (int)strcspn(text, "\n"), text);
    }
}

bool kernel_user_error(const char *messages, const char *path, char out[KERNEL_REASON_BYTES])
{
    const char *const error = strstr(messages, error_mark);
    const unsigned long line = error ? line_of(messages, error, path) : 0;
    size_t number = 0;

    while (number < KNOWN && !strstr(messages, known[number].words))
        number++;
    if (!error && number == KNOWN)
        return false;
    snprintf(out, KERNEL_REASON_BYTES, "%s", text_file_name(path));
    if (line)
        text_join(out, KERNEL_REASON_BYTES, "", ":%lu", line);
    text_join(out, KERNEL_REASON_BYTES, "", ": ");
    if (number == KNOWN)
        put_text(error, out);
    else
        text_join(out, KERNEL_REASON_BYTES, "", "%s", known[number].text);
    if (number < KNOWN && known[number].of_space)
        list_spaces(out);
    return true;
}
