/* SPDX-License-Identifier: MIT
 * Texts that are released together. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Zeroed: empty. */
struct texts {
    char **items; /* owned, and so are the texts */
    size_t count;
};

/* Adds a text, which is owned then. False when out of memory, or for NULL: the text is freed. */
bool texts_take(struct texts *texts, char *text);

/* Returns the copy that equals the text, and makes one if needed: equal texts share a pointer. It
 * is meant for some hundred texts, since it compares them one by one. NULL when out of memory. */
const char *texts_share(struct texts *texts, const char *text);

/* The texts of a list with a comma between, after `before`, or "" for an empty list. NULL when out
 * of memory. The caller frees it. */
char *texts_join(const struct texts *texts, const char *before);

/* Releases all of them; the list is then empty. */
void texts_close(struct texts *texts);
