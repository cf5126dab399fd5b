/* SPDX-License-Identifier: MIT
 * What was asked of a source of probes and what it answered, as text; and a source that answers from such a record.
 *
 * A question: "walk constant warm_up 1 timed 3 before nothing list 0+16*64": of a list, runs FIRST+STEP*COUNT of byte
 * offsets, with spaces between. An answer: numbers with spaces between, N*COUNT for a number that comes several times.
 */
#ifndef CBANK_PROBE_RECORD_H
#define CBANK_PROBE_RECORD_H

#include <stddef.h>

#include "json.h"
#include "probe_source.h"

struct probe_exchange {
    char *asked, *answer;
};

/* A source that passes on to another, or to a record, and records. */
struct probe_record {
    struct probe_source source;      /* asked when `replayed` is NULL */
    struct probe_exchange *exchanges; /* owned, and so are the texts */
    size_t count, room;
    const struct probe_record *replayed;
    size_t next;                     /* of `replayed`: where it is looked for first */
    struct probe_kernel *kernels;    /* owned: [PROBE_KIND_COUNT x path_count], of a record read from a file */
    uint64_t bank_address[PROBE_MEMBERS]; /* the same */
    const char *path;                /* of that file; not owned. NULL: not from one */
};

/* Asks and records. STATUS_USAGE, logged, when a replayed record has no such question. */
enum status probe_record_ask(struct probe_record *record, const struct probe_request *request, uint32_t *answer);

/* The kernel that answers, or answered. */
const struct probe_kernel *probe_record_kernel(const struct probe_record *record, enum probe_kind kind,
                                               const struct path *path);

/* Adds to an array: `count` exchanges from `first` on; the kernels. */
void probe_record_write(const struct probe_record *record, size_t first, size_t count, cJSON *array);
void probe_record_write_kernels(const struct probe_record *record, cJSON *array);

/* Adds to the record what such arrays of a file hold. STATUS_USAGE, logged, for what is wrong. */
enum status probe_record_read(const char *path, const cJSON *exchanges, struct probe_record *record);
enum status probe_record_read_kernels(const char *path, const cJSON *kernels, struct probe_record *record);

/* Releases; accepts a zeroed struct. */
void probe_record_close(struct probe_record *record);

#endif
