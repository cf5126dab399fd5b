/* SPDX-License-Identifier: MIT
 * The findings of experiments about one chip, with every answer of the probes that they rest on. */
#pragma once

#include "clock.h"
#include "device.h"
#include "document.h"
#include "geometry.h"
#include "probe_record.h"

struct experiment_run; /* experiment.h */

/* A row of the table of experiments (characterize.c). */
struct experiment {
    const char *name, *what, *path;
    void (*run)(struct experiment_run *run); /* finds numbers and verdicts */
    /* bits of enum probe_kind: the experiment is skipped if one of them has no kernel */
    uint32_t probes;
    uint32_t bytes;      /* experiment_geometry: memory for the pointer chases */
    uint32_t levels;     /* levels of the path's geometry that must be known; 0: none */
    const char *unknown; /* the reason to skip if they are not known */
};

enum {
    NUMBER_REASON_BYTES = 256,
    VERDICTS_MAX = 24,
    SENTENCE_BYTES = 256,
    CHARACTERIZATION_ARGV_BYTES = 1024
};

/* A number with its interval and its method. NaN if it was not found. */
struct number {
    const char *name, *unit, *method;
    double value, low, high; /* 95 % */
    uint64_t samples;
    /* its conditions; 0 if one does not apply; levels from 1 */
    uint32_t distinct, stride, warps, level;
    const char *before;                      /* the step before; NULL if it does not apply */
    /* why there is no number, or why later steps ignore it; "" */
    char reason[NUMBER_REASON_BYTES];
};

/* A finding in words. */
struct verdict {
    const char *name, *value, *before; /* value NULL: unclear; before and level as in a number */
    uint32_t level;
    double share; /* share of accesses that hit, for the sentence; NaN if it does not apply */
    /* the numbers that it rests on; what it means */
    char reason[NUMBER_REASON_BYTES], sentence[SENTENCE_BYTES];
};

enum outcome_status { OUTCOME_OK, OUTCOME_SKIPPED };

/* The findings of an experiment, or the reason for skipping it. */
struct outcome {
    struct experiment experiment; /* first: its row; for a file that was read, only the texts */
    enum outcome_status status;
    char reason[PROBE_TEXT_BYTES];
    struct number *numbers; /* owned */
    struct verdict verdicts[VERDICTS_MAX];
    size_t number_count, verdict_count, evidence_count;
    struct geometry *geometry; /* owned; NULL unless the experiment finds one */
    /* of the second level, seen from every SM, without what timing adds; count 0: none */
    struct summary latency;
    /* owned: the group of each SM, UINT32_MAX for none; NULL unless the experiment finds them */
    uint32_t *group;
    uint32_t group_count, sm_count;
    /* part of a record's exchanges; owned if it was read from a file */
    struct probe_exchange *evidence;
    double seconds;
};

/* The document that cbank characterize writes. */
struct characterization {
    char argv[CHARACTERIZATION_ARGV_BYTES];
    char started_utc[CLOCK_UTC_BYTES], finished_utc[CLOCK_UTC_BYTES];
    const char *replayed; /* the file with the answers; NULL: a GPU answered */
    double seconds;
    bool interrupted; /* experiments after the last one were not made */
    struct device_info device;
    struct probes probes;
    struct outcome *outcomes; /* owned */
    cJSON *tree; /* owned: for a file that was read; else NULL */
    /* of all evidence of that file, in its order, which it owns */
    struct probe_replay replay;
    size_t count; /* of outcomes */
};

/* results/characterization.schema.json. Geometry and groups follow from the answers, and are not
 * read. */
extern const struct document characterization_document;

/* Reads a file, or text in memory that messages call `name`. STATUS_USAGE, logged, if it is not a
 * characterization. The caller closes *out in either case. */
enum status characterization_parse(const char *name, const char *text, size_t bytes,
                                   struct characterization *out);
#define characterization_read(path, out) characterization_parse(path, NULL, 0, out)

/* Warns, in the name of the file, where it lacks experiments as it was interrupted. */
void characterization_warn(const char *file, const struct characterization *characterization);

/* Releases; accepts a zeroed struct. */
void characterization_close(struct characterization *characterization);

/* A function that is called after each experiment. NULL: none. With STATUS_OK, the run goes on. */
struct characterize_watch {
    enum status (*after)(void *context, const struct characterization *so_far);
    void *context;
};

/* Runs all experiments on the device of out->device. Unless `quiet`, it names each on stderr. An
 * experiment that cannot run is skipped, with the reason. If `recorded` is not NULL, it is the file
 * that answers, and experiments that it lacks are skipped. Sets out->probes and the outcomes, whose
 * evidence lies in the record. `watch` may be NULL: what it sees are the experiments so far,
 * without what follows from all together (geometry). STATUS_OK, or the status of the source: then
 * *out has the experiments before. The caller closes *out in either case. */
enum status characterize(struct probe_record *record, const struct characterization *recorded,
                         bool quiet, const struct characterize_watch *watch,
                         struct characterization *out);

/* The outcome of the experiment with that name; NULL if there is none. */
const struct outcome *characterization_outcome(const struct characterization *characterization,
                                               const char *name);

/* Writes the sentence of a verdict, whose other members are set. */
void verdict_explain(struct verdict *verdict);

/* A level's finding as a number. A found integer has no interval. */
struct number number_of_finding(const struct geometry_level *level,
                                const struct geometry_finding *finding);

/* A level's latency as a number, with the range over what was accessed. */
struct number number_of_latency(const struct geometry_level *level);

/* Prints a screen on stdout, as wide as it allows: a line a path, a line a level of caches, and the
 * verdicts, each once. STATUS_ENVIRONMENT, logged, when out of memory. */
enum status characterization_print(const struct characterization *characterization);

/* Prints more: what each experiment is, its numbers with intervals or ranges, and why something was
 * not found. */
void characterization_print_all(const struct characterization *characterization);

/* Analyses the answers in a file again and prints them in one of these ways. STATUS_USAGE, logged,
 * if it is not a characterization. */
enum status characterization_show(const char *file, bool all);
