/* SPDX-License-Identifier: MIT
 * Text from outside made safe to show, and text put together. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Bytes of the UTF-8 character at text, with `left` bytes left in the text. 0 if there is none: a
 * stray or missing continuation, an overlong form, a surrogate, beyond U+10FFFF. */
size_t text_utf8(const char *text, size_t left);

/* Like text_utf8, but also 0 for characters that are not printable. */
size_t text_printable(const char *text, size_t left);

#define TEXT_ESCAPE "\\x%02x" /* of a byte, an unsigned char */
enum { TEXT_ESCAPE_BYTES = 5 };

/* Replaces each byte outside of printable characters by its escape as far as the text has room
 * for `bytes`, else by '?'. Terminals and XML accept printable characters: no control characters
 * (C0, DEL, C1), ends of lines, changes of the direction of text, blanks without width, U+FFFE,
 * U+FFFF. */
void text_clean(char *text, size_t bytes);

enum { TEXT_SHOWN_BYTES = 80 };

/* Makes text from outside fit for a message, which escapes it: cut if it is long. Returns out. */
const char *text_shown(const char *text, char out[TEXT_SHOWN_BYTES]);

/* The name of a file without its folder. */
const char *text_file_name(const char *path);

/* How many letters must be added, removed or replaced to make one text of the other; SIZE_MAX for
 * long texts. */
size_t text_edits(const char *from, const char *to);

/* Appends to a text, after a separator if it is not empty, as far as there is room. */
__attribute__((format(printf, 4, 5))) void text_join(char *out, size_t bytes, const char *separator,
                                                     const char *format, ...);
