/* SPDX-License-Identifier: MIT
 * The grammar of JSON (RFC 8259), checked before cJSON, which takes more, sees a text. */
#ifndef CBANK_JSON_GRAMMAR_H
#define CBANK_JSON_GRAMMAR_H

#include <stddef.h>

/* Text that is being parsed. */
struct json_text {
    const char *name;           /* of the file, for messages */
    const unsigned char *bytes; /* a NUL follows the last */
    size_t count;
    size_t values; /* so far */
};

/* Checks the whole text: grammar, UTF-8, depth, number of values, numbers that are doubles. NULL, or what is wrong at
 * byte *at (static text). */
const char *json_scan(struct json_text *text, size_t *at);

#endif
