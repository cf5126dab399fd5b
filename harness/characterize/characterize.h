/* SPDX-License-Identifier: MIT
 * Experiments on one chip: what is asked of the probes, and what follows from the answers. The same analysis runs on
 * the answers of a GPU and on a record of them. */
#ifndef CBANK_CHARACTERIZE_H
#define CBANK_CHARACTERIZE_H

#include <stddef.h>
#include <stdint.h>

#include "clock.h"
#include "device.h"
#include "document.h"
#include "path.h"
#include "probe_record.h"
#include "status.h"

struct geometry; /* geometry.h */

struct experiment_run; /* experiment.h */
struct outcome;

/* What an experiment does: finds numbers and verdicts. */
typedef enum status experiment_function(struct experiment_run *run, struct outcome *outcome);

/* A row of the table of experiments. */
struct experiment {
    const char *name;
    const char *what;
    experiment_function *run;
    const char *path;
    const char *other; /* experiment_crossover: the path that `path` is compared with */
    uint32_t bytes;    /* experiment_geometry: of the memory that is walked */
    enum probe_kind probe; /* experiment_geometry: what walks it */
};

extern const struct experiment experiments[];
extern const size_t experiment_count;

enum { NUMBER_REASON_BYTES = 256, VERDICTS_MAX = 24, SENTENCE_BYTES = 256 };

/* A number with what it takes to believe it. NaN where there is none. */
struct number {
    const char *name, *unit, *method;
    double value, low, high; /* 95 % */
    uint64_t samples;
    uint32_t distinct, stride, warps, level; /* what it is of; 0 where that does not apply; levels from 1 */
    uint32_t region_bytes, code_bytes;       /* what is walked, and straight code that is run; 0 likewise */
    const char *before;                      /* what came before; NULL likewise */
    char reason[NUMBER_REASON_BYTES];        /* why there is none, or why it is left out of what follows; "" */
};

/* An answer in words. */
struct verdict {
    const char *name;
    const char *value; /* NULL: none */
    uint32_t level;    /* what it is of; 0 and NULL where that does not apply */
    const char *before;
    double share;      /* of the accesses that hit, in the sentence; NaN where that does not apply */
    char reason[NUMBER_REASON_BYTES];
};

enum outcome_status { OUTCOME_OK, OUTCOME_SKIPPED };

/* What an experiment found, or why it was skipped. */
struct outcome {
    struct experiment experiment; /* its row; of a file that was read, the texts alone */
    enum outcome_status status;
    char reason[PROBE_TEXT_BYTES];
    struct number *numbers; /* owned */
    size_t number_count, number_room;
    struct verdict verdicts[VERDICTS_MAX];
    size_t verdict_count;
    struct geometry *geometry; /* owned; NULL unless an experiment of that kind */
    uint32_t *group; /* owned: group of each SM, by its number; UINT32_MAX where none; NULL unless of that kind */
    uint32_t group_count, sm_count;
    struct probe_exchange *evidence; /* within the exchanges of a record; owned where it was read from a file */
    size_t evidence_count;
    double seconds;
    bool out_of_memory; /* something was not added */
};

enum { CHARACTERIZATION_ARGV_BYTES = 1024 };

/* What cbank characterize writes. */
struct characterization {
    char argv[CHARACTERIZATION_ARGV_BYTES];
    char started_utc[CLOCK_UTC_BYTES], finished_utc[CLOCK_UTC_BYTES];
    const char *replayed; /* file whose answers these are; NULL: a GPU answered */
    double seconds;
    struct device_info device;
    struct probes probes;
    struct outcome *outcomes; /* owned */
    size_t count;

    cJSON *tree; /* owned: of a file that was read; NULL */
    struct probe_exchange *exchanges; /* owned: all evidence of that file, in its order */
    size_t exchange_count;
};

/* results/characterization.schema.json. Files of 1.x are read, too. Geometry and groups, which follow from the answers,
 * are not read. */
extern const struct document characterization_document;

/* Reads a file. STATUS_USAGE, logged, when it is none. The caller closes *out in either case. */
enum status characterization_read(const char *path, struct characterization *out);

/* Releases; accepts a zeroed struct. */
void characterization_close(struct characterization *characterization);

/* What the experiment of that name found, or that it was skipped; NULL where there is no such experiment. */
const struct outcome *characterization_outcome(const struct characterization *characterization, const char *name);

/* Called before each experiment. */
typedef void characterize_progress(const struct experiment *experiment, size_t done);

/* Runs all experiments on the device that out->device describes; `progress` may be NULL. What cannot be is skipped, with
 * the reason; so is what `recorded`, the file that answers, does not have (NULL: a GPU answers). Sets the outcomes, whose
 * evidence lies in the record, and what the source is. STATUS_OK, or the status of the source. The caller closes *out in
 * either case. */
enum status characterize(struct probe_record *record, const struct characterization *recorded,
                         characterize_progress *progress, struct characterization *out);

/* SMs of a group. */
uint32_t outcome_group_size(const struct outcome *outcome, uint32_t group);

/* What a verdict means, in a sentence. Returns out. */
const char *verdict_sentence(const struct verdict *verdict, char out[SENTENCE_BYTES]);

/* Prints what was found, in short, on stdout for its width. */
enum status characterization_print(const struct characterization *characterization);

#endif
