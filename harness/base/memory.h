/* SPDX-License-Identifier: MIT
 * Memory that runs out, for all of the program: exit 3, one message, nothing lost and nothing shortened.
 *
 * An allocation that fails is an error like another. The function that finds it logs it and returns
 * STATUS_ENVIRONMENT, callers pass that up, and whoever prints prints nothing more. Ending the process on the spot
 * would take fewer lines. But a run has to go on when one checkpoint finds no memory: its measurements are worth
 * more than its file of this second. Tables, JSON and files are written by the same functions in a run and
 * elsewhere, and a temporary file would stay. So there is one way, and tests/end_to_end/allocation.py goes it from
 * every place that allocates in every command.
 *
 * Three rules make it sure. A tree of JSON that lost a member cannot be printed (json_add). A file is replaced only
 * by a whole one (file_write). Text in memory is written by the functions below, as open_memstream drops text
 * without memory and does not say so. */
#ifndef CBANK_MEMORY_H
#define CBANK_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Makes room for one element more in an array of `count`, each of `bytes`, which this alone makes larger: it doubles
 * where it is full. `array` is where the pointer to it is, NULL of none. False out of memory; the array is as it was
 * then. Logs nothing. */
bool memory_grow(void *array, size_t count, size_t bytes);

/* Text that was written to a stream of memory_open. */
struct memory {
    char *text; /* owned; a NUL follows it, that bytes does not count */
    size_t bytes, room;
};

/* A stream into *memory, which holds all that was written after fflush and memory_close. NULL out of memory. */
FILE *memory_open(struct memory *memory);

/* Closes the stream. True: memory->text is all that was written, and the caller's to free. False, with text NULL:
 * memory ran out, also when it was opened: stream may be NULL. Logs nothing. */
bool memory_close(struct memory *memory, FILE *stream);

#endif
