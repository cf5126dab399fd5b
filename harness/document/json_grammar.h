/* SPDX-License-Identifier: MIT
 * The grammar of JSON's strings, numbers and words (RFC 8259): cJSON takes more. */
#ifndef CBANK_JSON_GRAMMAR_H
#define CBANK_JSON_GRAMMAR_H

#include <stdbool.h>
#include <stddef.h>

/* Text that is being parsed. */
struct json_text {
    const char *name;     /* of the file, for messages */
    unsigned char *bytes; /* a NUL follows the last */
    size_t count;
};

/* Each steps over what begins at *at, and returns NULL, or what is wrong at *at (static text). */

/* A string. *plain: all of it are printable characters of ASCII that stand for themselves. */
const char *json_scan_string(const struct json_text *text, size_t *at, bool *plain);

/* A number, which is one that a double holds. */
const char *json_scan_number(const struct json_text *text, size_t *at, double *out);

/* true, false or null, as the kind that cJSON has for it. */
const char *json_scan_word(const struct json_text *text, size_t *at, int *kind);

#endif
