/* SPDX-License-Identifier: MIT
 * Copies of texts that are released together. */
#ifndef CBANK_TEXTS_H
#define CBANK_TEXTS_H

#include <stddef.h>

/* Zeroed is empty. */
struct texts {
    char **items; /* owned, and so are the texts */
    size_t count;
};

/* A copy of a text, which does not move. NULL out of memory. */
char *texts_add(struct texts *texts, const char *text);

/* The copy that is equal to the text, which is made where there is none: two such copies are equal where they are the same
 * pointer. For some hundred texts: it looks at one after the other. NULL out of memory. */
const char *texts_share(struct texts *texts, const char *text);

/* Releases all of them; there are none then. */
void texts_close(struct texts *texts);

#endif
