/* SPDX-License-Identifier: MIT
 * Processes of this program or another that run one plan, one after the other. Their results are the files of a folder.
 * calibrate and gate use them. A process that is there already, of a command that ended early, is not run
 * again. */
#ifndef CBANK_PROCESSES_H
#define CBANK_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>

#include "command.h"
#include "plan_options.h"
#include "side.h"
#include "status.h"

enum { PROCESS_PATH_BYTES = 4096, PROCESSES_MAX = 1000 };

/* Some of them, of one thing. */
struct process_series {
    const struct invocation *invocation; /* each gets the options of plan and measurement that stand on its line */
    const char *what;    /* they are for, in messages: "calibration" */
    const char *name;    /* of their files: "base" for base-001.json */
    const char *label;   /* of one of them in messages: "base process" */
    const char *program; /* as for child_run; NULL: this one */
    const char *folder;
    uint64_t most;     /* there are to be; at most PROCESSES_MAX */
    char **words, *text; /* owned: of a child, and the text that they lie in, ... */
    char json[PROCESS_PATH_BYTES]; /* ... but for the last, its --json */
    char *line;        /* owned: what results say of the command line, but for its first word and last path */
    char version[128]; /* and commit, of the program; "" while those of another are not known */
    uint64_t finished; /* processes */
    bool done[PROCESSES_MAX];
};

/* Finds the processes that an earlier command finished; the members up to `most` are the caller's to set. STATUS_USAGE
 * for a file that is of another program or other options; STATUS_FINDING where a cell of one failed. The caller closes,
 * on an error, too. */
enum status process_series_open(struct process_series *series);
void process_series_close(struct process_series *series);

/* Runs process `index` unless it is done. A cell that failed is a finding, and the others of the process count. */
enum status process_series_run(struct process_series *series, uint64_t index);

/* Adds the first `count` processes: those files alone, whatever else lies in the folder. */
enum status process_series_read(const struct process_series *series, uint64_t count, struct sides *sides);

/* Whether the cells of processes that ended so can be used: also where one failed. */
bool process_usable(enum status status);

/* STATUS_USAGE, logged, where the options name several GPUs. */
enum status process_check_device(const struct measure_options *measure);

/* The folder of --keep, made where it is not there, or without `keep` one in /tmp, whose name is written to `own`.
 * NULL, logged, where it cannot be made. */
const char *process_folder_open(const char *keep, char own[PROCESS_PATH_BYTES]);

/* Removes what a series has in a folder of our own. The folder goes with the last. */
void process_series_remove(const struct process_series *series);

#endif
