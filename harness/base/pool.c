/* SPDX-License-Identifier: MIT */
#include "pool.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BYTES = 1 << 10, PIECE_BYTES = 32 << 10 };

struct pool_piece {
    struct pool_piece *next;
    size_t room;
    double bytes[];
};

void *pool_take(struct pool *pool, size_t bytes)
{
    const size_t unit = sizeof(double), needed = (bytes + unit - 1) / unit * unit;

    if (needed > pool->left) {
        const size_t least = pool->pieces ? PIECE_BYTES : FIRST_BYTES, room = needed > least ? needed : least;
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

/* -- texts --------------------------------------------------------------------------------------------- */

/* The place of a text, or where it would go: there is always one that is free. FNV-1a. */
static const char **place_of(const char **places, size_t room, const char *text)
{
    uint64_t hash = 0xcbf29ce484222325;

    for (const char *c = text; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 0x100000001b3;
    while (places[hash % room] && strcmp(places[hash % room], text) != 0)
        hash++;
    return &places[hash % room];
}

/* Doubles the places when half of them are taken. */
static bool make_places(struct texts *texts)
{
    const size_t room = texts->room ? 2 * texts->room : 64;
    const char **larger;

    if (2 * texts->count < texts->room)
        return true;
    larger = calloc(room, sizeof(*larger));
    for (size_t i = 0; larger && i < texts->room; i++)
        if (texts->places[i])
            *place_of(larger, room, texts->places[i]) = texts->places[i];
    if (!larger)
        return false;
    free(texts->places);
    texts->places = larger;
    texts->room = room;
    return true;
}

const char *texts_share(struct texts *texts, const char *text)
{
    const char **place = make_places(texts) ? place_of(texts->places, texts->room, text) : NULL;

    if (place && !*place) {
        *place = pool_text(&texts->pool, text);
        texts->count += *place != NULL;
    }
    return place ? *place : NULL;
}

void texts_close(struct texts *texts)
{
    pool_close(&texts->pool);
    free(texts->places);
    *texts = (struct texts){0};
}
