/* SPDX-License-Identifier: MIT
 * The arrays of indices that the lookups of cells read: made by a source, or mapped from a file. Cells that read the same
 * indices share an array. */
#ifndef CBANK_INDEX_LIST_H
#define CBANK_INDEX_LIST_H

#include "cell.h"
#include "npy.h"
#include "sha256.h"

/* An array, of its source and what that was made of, or of a file. */
struct index_array {
    struct indices indices;
    char sha256[SHA256_HEX_BYTES]; /* of the indices as 32-bit integers, or of the file; "": see unhashed */
    const char *path;              /* of the file, not owned; NULL: it was made */
    uint64_t trace;                /* of the file: see struct cell; 0: it was made */
    uint64_t rows, elements;       /* of the file: steps, and indices of each */
    uint64_t highest;              /* of the file: its highest index, a negative one above all */
    struct npy_file file;          /* owned */
    struct cell like;              /* a cell that it was made for */
    uint32_t length;               /* entries of the table that it was made for */
    uint32_t *made;                /* owned; NULL: of a file, or wanted and not yet made */
    struct index_array *next;      /* owned */
};

struct index_list {
    struct index_array *first;
    bool unhashed; /* arrays that are made need no sha256: nobody writes it down */
};

/* Maps a file, or finds it where it is mapped. An array of two dimensions is [step][thread], of one a step. `path` has to
 * outlive the list. STATUS_USAGE, logged, when it is no such file. Reads all of it: about 4 s for 1 GB. */
enum status index_list_map(struct index_list *list, const char *path, const struct index_array **out);

/* Adds the array of a cell that reads the indices of a source, unless the list has it; index_list_make makes it. Other cells are
 * left out. STATUS_ENVIRONMENT, logged, out of memory. */
enum status index_list_want(struct index_list *list, const struct cell *cell);

/* Makes all arrays that are wanted, several at the same time. STATUS_ENVIRONMENT, logged, out of memory: what there was none for
 * is still wanted. */
enum status index_list_make(struct index_list *list);

/* Gives a cell whose workload reads indices the array that it reads, which lives as long as the list does; other cells are left
 * as they are. Makes what is not yet made. STATUS_USAGE, logged with the place, for an index of a file beyond the cell's table;
 * STATUS_ENVIRONMENT out of memory. A file has to be mapped before. */
enum status index_list_give(struct index_list *list, struct cell *cell, const struct index_array **out);

/* Releases; accepts a zeroed struct. */
void index_list_close(struct index_list *list);

#endif
