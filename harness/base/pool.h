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

#endif
