/* SPDX-License-Identifier: MIT
 * Experiments on one chip: what is asked of the probes, and what follows from the answers. The same analysis runs on
 * the answers of a GPU and on a record of them. */
#ifndef CBANK_CHARACTERIZE_H
#define CBANK_CHARACTERIZE_H

#include "clock.h"
#include "device.h"
#include "document.h"
#include "geometry.h"
#include "probe_record.h"

struct experiment_run; /* experiment.h */
struct outcome;

/* What an experiment does: finds numbers and verdicts. */
typedef void experiment_function(struct experiment_run *run);

/* A row of the table of experiments. */
struct experiment {
    const char *name, *what, *path;
    experiment_function *run;
    uint32_t probes;     /* that it asks, as bits of enum probe_kind: without a kernel of each it is skipped */
    uint32_t bytes;      /* experiment_geometry: of the memory that is walked */
    const char *other;   /* experiment_crossover: the path that `path` is compared with */
    uint32_t levels;     /* of the path's geometry that have to be known before; 0: none */
    const char *unknown; /* why it is skipped where they are not */
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
    const char *name, *value, *before; /* value NULL: none; level and what came before as of a number */
    uint32_t level;
    double share; /* of the accesses that hit, in the sentence; NaN where that does not apply */
    char reason[NUMBER_REASON_BYTES];
};

enum outcome_status { OUTCOME_OK, OUTCOME_SKIPPED };

/* What an experiment found, or why it was skipped. */
struct outcome {
    struct experiment experiment; /* first: its row; of a file that was read, the texts alone */
    enum outcome_status status;
    bool newer; /* than the record, which lacks it: nothing about the chip */
    char reason[PROBE_TEXT_BYTES];
    struct number *numbers; /* owned */
    struct verdict verdicts[VERDICTS_MAX];
    size_t number_count, verdict_count, evidence_count;
    struct geometry *geometry; /* owned; NULL unless an experiment of that kind */
    uint32_t *group; /* owned: group of each SM, by its number; UINT32_MAX where none; NULL unless of that kind */
    uint32_t group_count, sm_count;
    struct probe_exchange *evidence; /* within the exchanges of a record; owned where it was read from a file */
    double seconds;
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
    cJSON *tree; /* owned: of a file that was read; NULL */
    struct probe_exchange *exchanges; /* owned: all evidence of that file, in its order */
    size_t count, exchange_count; /* of outcomes; of exchanges */
};

/* results/characterization.schema.json. Geometry and groups, which follow from the answers,
 * are not read. */
extern const struct document characterization_document;

/* Reads a file, or text in memory that messages call `name`. STATUS_USAGE, logged, when it is none. The caller closes
 * *out in either case. */
enum status characterization_read(const char *path, struct characterization *out);
enum status characterization_parse(const char *name, const char *text, size_t bytes, struct characterization *out);

/* Releases; accepts a zeroed struct. */
void characterization_close(struct characterization *characterization);

/* What the experiment of that name found, or that it was skipped; NULL where there is no such experiment. */
const struct outcome *characterization_outcome(const struct characterization *characterization, const char *name);

/* Called before each experiment. */
typedef void characterize_progress(const struct experiment *experiment, size_t done);

/* Runs all experiments on the device that out->device describes; `progress` may be NULL. What cannot be is skipped,
 * with the reason; so is what `recorded`, the file that answers, does not have (NULL: a GPU answers). Sets the
 * outcomes, whose evidence lies in the record, and what the source is. STATUS_OK, or the status of the source. The
 * caller closes *out in either case. */
enum status characterize(struct probe_record *record, const struct characterization *recorded,
                         characterize_progress *progress, struct characterization *out);

/* SMs of a group. */
uint32_t outcome_group_size(const struct outcome *outcome, uint32_t group);

/* What a verdict means, in a sentence. Returns out. */
const char *verdict_sentence(const struct verdict *verdict, char out[SENTENCE_BYTES]);

/* Rows of struct number: its name and what it is of, then the value with what it takes to believe it; of struct
 * verdict, those of cards first. */
enum { NUMBER_ROWS = 15, VALUE_ROWS = 7, VERDICT_ROWS = 7, CARD_VERDICT_ROWS = 5 };
extern const struct field number_field_rows[NUMBER_ROWS];
extern const struct field verdict_field_rows[VERDICT_ROWS];

/* What a geometry says of a level as numbers: its latency, without a name, and what was found, by its key. Of an
 * integer that was found there is no interval. */
struct number number_of_latency(const struct summary *latency);
struct number number_of_finding(const struct geometry_level *level, const struct geometry_finding *finding);

/* Prints what was found, in short, on stdout for its width. */
enum status characterization_print(const struct characterization *characterization);

#endif
