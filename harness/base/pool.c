/* SPDX-License-Identifier: MIT */
#include "pool.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE_BYTES = 32 << 10 };

struct pool_piece {
    struct pool_piece *next;
    size_t room;
    double bytes[];
};

void *pool_take(struct pool *pool, size_t bytes)
{
    const size_t unit = sizeof(double), needed = (bytes + unit - 1) / unit * unit;

    if (needed > pool->left) {
        const size_t room = needed > PIECE_BYTES ? needed : PIECE_BYTES;
        struct pool_piece *piece = malloc(sizeof(*piece) + room);

        if (!piece)
            return NULL;
        piece->next = pool->pieces;
        piece->room = pool->left = room;
        pool->pieces = piece;
    }
    pool->left -= needed;
    return (char *)pool->pieces->bytes + pool->pieces->room - pool->left - needed;
}

char *pool_text(struct pool *pool, const char *text)
{
    const size_t bytes = strlen(text) + 1;
    char *copy = pool_take(pool, bytes);

    return copy ? memcpy(copy, text, bytes) : NULL;
}

void pool_close(struct pool *pool)
{
    for (struct pool_piece *piece = pool->pieces, *next; piece; piece = next) {
        next = piece->next;
        free(piece);
    }
    *pool = (struct pool){0};
}
