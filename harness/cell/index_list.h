/* SPDX-License-Identifier: MIT
 * The arrays of indices that the lookups of cells read: made by a source, or mapped from a file.
 * Cells that read the same indices share an array. */
#pragma once

#include "cell.h"
#include "sha256.h"

/* An array, with the numbers that its source made it from, or with its file. */
struct index_array {
    struct indices indices;
    /* of the indices as 32-bit integers, or of the file; "" where `unhashed` */
    char sha256[SHA256_HEX_BYTES];
    const char *path;              /* of the file, not owned; NULL: made by a source */
    uint64_t index_file_hash; /* of the file: see struct cell; 0: made by a source */
    uint64_t rows, elements; /* of the file: steps, and indices of each */
    /* of the file: its highest index; a negative one is above all others */
    uint64_t highest;
    void *file; /* its mapping; owned; NULL: no file */
    size_t file_bytes;
    struct cell like; /* a cell that it was made for */
    uint32_t length; /* entries of the table that it was made for */
    uint32_t *made; /* owned; NULL: from a file, or not yet made, or released */
    bool released; /* nobody reads it any more */
    struct index_array *next; /* owned */
};

struct index_list {
    struct index_array *first;
    bool unhashed; /* a made array needs no sha256, because no document will hold it */
};

/* Maps a file, or finds it if it is mapped already. An array of two dimensions is [step][thread];
 * one of one dimension has a single step. `path` must outlive the list. STATUS_USAGE, logged, if
 * the file is not an array of indices. The call reads the whole file: about 4 s for 1 GB. */
enum status index_list_map(struct index_list *list, const char *path,
                           const struct index_array **out);

/* Adds an array, which the list then owns. NULL, logged, when out of memory. */
struct index_array *index_list_add(struct index_list *list, const struct index_array *array);

/* Adds the array of a cell that reads the indices of a source, unless the list has it;
 * index_list_make makes it. Ignores other cells. Fails, logged, when out of memory, and for a cell
 * with more than CELL_INDICES_MAX. */
enum status index_list_want(struct index_list *list, const struct cell *cell);

/* Makes all arrays that are wanted, several at a time. STATUS_ENVIRONMENT, logged, when out of
 * memory: the arrays without memory stay wanted. */
enum status index_list_make(struct index_list *list);

/* Gives a cell the array of indices that it reads, which lives as long as the list; leaves cells
 * without indices unchanged. Makes the array if needed; a file must have been mapped before.
 * STATUS_USAGE, logged with the position, for an index in a file beyond the cell's table;
 * STATUS_ENVIRONMENT when out of memory. */
enum status index_list_give(struct index_list *list, struct cell *cell,
                            const struct index_array **out);

/* The array that a cell reads, if the list has it; it may not be made yet. NULL otherwise, and for
 * a cell without indices. */
const struct index_array *index_list_find(const struct index_list *list, const struct cell *cell);

/* Frees the indices of an array that was made. Cells that have it must not be counted or measured
 * any more; its hash stays. */
void index_list_release(struct index_list *list, const struct index_array *array);

/* Releases; accepts a zeroed struct. */
void index_list_close(struct index_list *list);
