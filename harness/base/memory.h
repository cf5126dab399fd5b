/* SPDX-License-Identifier: MIT
 * Out of memory, in the whole program: exit 3, one message, no data lost and no output shortened.
 *
 * A failed allocation is handled like any other error. The function that finds it logs it and
 * returns STATUS_ENVIRONMENT; callers pass that up and print nothing more. Ending the process at
 * once would take fewer lines. But a run must continue if one checkpoint finds no memory: its
 * measurements matter more than one save. Tables, JSON and files are written by the same functions
 * in a run and elsewhere, and a temporary file would remain. So there is one way, and
 * tests/end_to_end/allocation.py fails every allocation in every command.
 *
 * Three rules make this safe. A tree of JSON that lost a member cannot be printed (json_add). A
 * file is replaced only by a whole one (file_write). Text in memory is written by the functions
 * below, because open_memstream silently drops text when out of memory. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Makes room for one more element in an array of `count` elements of `bytes` bytes. The array
 * doubles when it is full; only this function may have enlarged it. `array` is the address of its
 * pointer, which is NULL for an empty array. False when out of memory; the array is then unchanged.
 * Logs nothing. */
bool memory_grow(void *array, size_t count, size_t bytes);

/* Text written to a stream of memory_open. */
struct memory {
    char *text; /* owned; followed by a NUL, which `bytes` does not count */
    size_t bytes, room;
};

/* Opens a stream that writes to *memory. *memory holds everything written after fflush and
 * memory_close. NULL when out of memory. */
FILE *memory_open(struct memory *memory);

/* Closes the stream. True: memory->text is everything that was written, and the caller frees it.
 * False, with text NULL: memory ran out; `stream` may be NULL for that. Logs nothing. */
bool memory_close(struct memory *memory, FILE *stream);
