/* SPDX-License-Identifier: MIT
 * Many small things that are released together. */
#ifndef CBANK_POOL_H
#define CBANK_POOL_H

#include <stddef.h>

/* Zeroed is empty. Nothing in it moves. */
struct pool {
    struct pool_piece *pieces; /* owned; the latest first, whose end is free */
    size_t left; /* bytes of that end */
};

/* Room for something without alignment beyond that of pointers and doubles; not cleared. The pool's; NULL out of memory. */
void *pool_take(struct pool *pool, size_t bytes);

/* A copy of a text. The pool's; NULL out of memory. */
char *pool_text(struct pool *pool, const char *text);

/* Releases all of it; it is empty then. */
void pool_close(struct pool *pool);

/* Texts that occur again and again, each once. Zeroed is empty. */
struct texts {
    struct pool pool;
    const char **places; /* owned: of each text by its hash; NULL: free */
    size_t room, count;
};

/* The one that is equal to the text, which is copied where there is none. NULL out of memory. */
const char *texts_share(struct texts *texts, const char *text);

/* Releases all of them; there are none then. */
void texts_close(struct texts *texts);

#endif
