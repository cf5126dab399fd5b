/* SPDX-License-Identifier: MIT
 * Questions to a source of probes, and its answers, as text; and a source that answers from a
 * record.
 *
 * A question: "chase constant warm_up 1 timed 3 before nothing list 0+16*64". A list is runs
 * FIRST+STEP*COUNT of byte offsets, with spaces between. An answer: numbers with spaces between,
 * N*COUNT for a repeated number.
 */
#pragma once

#include "field.h"
#include "probe_source.h"

struct probe_exchange {
    /* the answer follows the question, or both are in the tree of a file */
    const char *asked, *answer;
};

/* A source, with the questions and answers so far. */
struct probe_record {
    struct probe_source source;
    struct probe_exchange *exchanges; /* owned, with their texts */
    size_t count;
};

/* Asks the source and records the answer. Returns its status; STATUS_ENVIRONMENT, logged, when out
 * of memory. */
enum status probe_record_ask(struct probe_record *record, const struct probe_request *request,
                             uint32_t *answer);

/* Releases; accepts a zeroed struct. */
void probe_record_close(struct probe_record *record);

/* The kernel that answers, as in a file. */
struct probe_kernel_row {
    const char *probe, *path; /* names */
    struct probe_kernel kernel;
};

/* The source, as in a file. */
struct probes {
    uint64_t samples_max;
    char shared_carve_out[PROBE_TEXT_BYTES];
    struct probe_kernel_row *kernels; /* owned */
    size_t kernel_count;
};

/* Describes a source, with the kernels of all its probes. STATUS_ENVIRONMENT, logged, when out of
 * memory. The caller frees out->kernels. */
enum status probes_describe(const struct probe_source *source, struct probes *out);

/* A source that answers from a record as long as it has answers in their order, and then from
 * another. */
struct probe_resume {
    struct probe_source live;
    const struct probe_exchange *exchanges;
    size_t count, next;
};

/* The source of both, which refers to *resume. */
struct probe_source probe_resume_source(struct probe_resume *resume);

/* A recorded file as a source. */
struct probe_replay {
    const char *file;
    const struct probes *probes;
    const struct probe_exchange *exchanges;
    size_t count;
    size_t next; /* where the search for a question starts */
};

/* The source of the replay, which it refers to. STATUS_USAGE, logged, for a question that the file
 * does not answer. */
struct probe_source probe_replay_source(struct probe_replay *replay);
