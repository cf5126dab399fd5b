/* SPDX-License-Identifier: MIT
 * Names of kernels by the Itanium C++ ABI: _Z, for a nested name N, then parts of length and text:
 *
 *   _ZN7filters4blurIfLi3EEEvPKf     filters::blur<float, 3>(float const*)
 *       ------- ----                 the parts; I begins the arguments of a template */
#include "kernel_name.h"

#include <fnmatch.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

enum { BASE_BYTES = 512 };

/* __nv_static_, then the length of a text and the text, which names the file and may have the name
 * of a function in it. */
const char *kernel_mangled(const char *name)
{
    static const char before[] = "__nv_static_";
    size_t length = 0;
    const char *text = name + strlen(before);

    if (strncmp(name, before, strlen(before)) != 0)
        return name;
    while (*text >= '0' && *text <= '9' && length < BASE_BYTES)
        length = length * 10 + (size_t)(*text++ - '0');
    length += 2; /* one _ before the text and one behind it */
    return length > 2 && strnlen(text, length) == length ? text + length : name;
}

/* A part of a name: where it is, and its bytes. */
struct part {
    const char *text;
    size_t bytes;
};

/* Steps to the next part. False: there is none. */
static bool next_part(const char **place, struct part *out)
{
    size_t length = 0;
    const char *text = *place + (**place == 'L'); /* of internal linkage */

    if (*text < '1' || *text > '9')
        return false;
    while (*text >= '0' && *text <= '9' && length < BASE_BYTES)
        length = length * 10 + (size_t)(*text++ - '0');
    if (strnlen(text, length) < length)
        return false;
    *out = (struct part){text, length};
    *place = text + length;
    return true;
}

/* The first part of a mangled name; NULL: it is not mangled. */
static const char *first_place(const char *whole, bool *nested)
{
    const char *name = kernel_mangled(whole);

    if (strncmp(name, "_Z", 2) != 0)
        return NULL;
    *nested = name[2] == 'N';
    return name + 2 + *nested;
}

size_t kernel_base_bytes(const char *name)
{
    bool nested = false;
    const char *place = first_place(name, &nested);
    const char *const first = place;
    struct part part;

    while (place && next_part(&place, &part) && nested)
        ;
    return place && place != first ? (size_t)(place - name) : strlen(name);
}

/* Whether a part stands for a file: the namespace without a name of code that is of a file alone.
 * It has a hash of the file's path. */
static bool is_of_file(const struct part *part)
{
    static const char *const beginnings[] = {"_GLOBAL__N_", "_INTERNAL_"};

    for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
        if (strncmp(part->text, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}

/* Steps over a character of a name, or over a part that stands for a file, and returns what it is:
 * 0 the end, 1 such a part. */
static int next_character(const char **place)
{
    const char *behind = *place;
    struct part part;

    if (next_part(&behind, &part) && is_of_file(&part)) {
        *place = behind;
        return 1;
    }
    return **place ? (unsigned char)*(*place)++ : 0;
}

int kernel_compare_names(const char *a, const char *b)
{
    const char *left = kernel_mangled(a), *right = kernel_mangled(b);
    int from, to;

    do {
        from = next_character(&left);
        to = next_character(&right);
    } while (from && from == to);
    return from - to;
}

void kernel_base_name(const char *name, char *out, size_t bytes)
{
    bool nested = false;
    const char *place = first_place(name, &nested);
    struct part part;

    out[0] = '\0';
    while (place && next_part(&place, &part)) {
        if (is_of_file(&part))
            text_join(out, bytes, "::", "(anonymous)");
        else
            text_join(out, bytes, "::", "%.*s", (int)part.bytes, part.text);
        if (!nested)
            break;
    }
    if (!out[0])
        snprintf(out, bytes, "%s", name);
    else if (place && *place == 'I')
        text_join(out, bytes, "", "<...>");
}

bool kernel_name_matches(const char *glob, const char *name, const char *readable)
{
    char base[BASE_BYTES];
    const char *last;

    kernel_base_name(name, base, sizeof(base));
    last = strrchr(base, ':');
    if (fnmatch(glob, name, 0) == 0 || fnmatch(glob, readable, 0) == 0 ||
        fnmatch(glob, base, 0) == 0 || fnmatch(glob, last ? last + 1 : base, 0) == 0)
        return true;
    base[strcspn(base, "<")] = '\0';
    return fnmatch(glob, base, 0) == 0 || fnmatch(glob, last ? last + 1 : base, 0) == 0;
}
