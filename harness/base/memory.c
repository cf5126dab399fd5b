/* SPDX-License-Identifier: MIT
 * Arrays that double, and streams into memory. An array of n elements is full where n is a power of
 * two: no capacity is stored. fopencookie stands in for open_memstream, whose text is cut without a
 * word when memory runs out. */
#include "memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool memory_grow(void *array, size_t count, size_t bytes)
{
    void *items, *larger;

    if (count & (count - 1))
        return true;
    memcpy(&items, array, sizeof(items)); /* whatever its type */
    larger = realloc(items, (count ? 2 * count : 1) * bytes);
    if (larger)
        memcpy(array, &larger, sizeof(larger));
    return larger;
}

/* Writes to a stream's memory. 0 means that memory ran out; the stream's error flag then shows
 * it. */
static ssize_t append(void *cookie, const char *text, size_t bytes)
{
    struct memory *memory = cookie;

    if (bytes >= memory->room - memory->bytes) {
        const size_t room = 2 * (memory->bytes + bytes) + 1;
        char *larger = realloc(memory->text, room);

        if (!larger) {
            errno = ENOMEM;
            return 0;
        }
        memory->text = larger;
        memory->room = room;
    }
    memcpy(memory->text + memory->bytes, text, bytes);
    memory->bytes += bytes;
    memory->text[memory->bytes] = '\0';
    return (ssize_t)bytes;
}

FILE *memory_open(struct memory *memory)
{
    *memory = (struct memory){0};
    append(memory, "", 0);
    return memory->text ? fopencookie(memory, "w", (cookie_io_functions_t){.write = append}) : NULL;
}

bool memory_close(struct memory *memory, FILE *stream)
{
    const bool whole = stream && fflush(stream) == 0 && !ferror(stream);

    if (stream)
        fclose(stream);
    if (!whole) {
        free(memory->text);
        *memory = (struct memory){0};
    }
    return whole;
}
