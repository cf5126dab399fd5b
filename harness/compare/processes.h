/* SPDX-License-Identifier: MIT
 * Processes of this program or another that run one plan, one after the other. Their results are files in a folder.
 * Both calibrate and gate use them. A process that an earlier command finished is not run again. */
#ifndef CBANK_PROCESSES_H
#define CBANK_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>

#include "command.h"
#include "plan_options.h"
#include "side.h"
#include "status.h"

enum { PROCESS_PATH_BYTES = 4096, PROCESSES_MAX = 1000 };

/* Processes that measure the same. The caller sets the first members. */
struct process_series {
    const struct invocation *invocation; /* each process gets its options of plan and measurement */
    const char *name;                    /* in files and messages: "base" for base-001.json */
    const char *program;                 /* as for child_run; NULL: this one */
    const char *folder;
    uint64_t most; /* number of processes wanted, up to PROCESSES_MAX */

    uint64_t finished;
    bool done[PROCESSES_MAX];
    char *line, **words;           /* owned: the command line of a child, without its last word, ... */
    char json[PROCESS_PATH_BYTES]; /* ... which is --json */
    char version[128];             /* and commit, of the program; "": not known yet */
};

/* STATUS_USAGE, logged, if the options name several GPUs. */
enum status process_check_device(const struct measure_options *measure);

/* The folder of --keep, created if needed. Without `keep` a new one, whose name is written to `own`. NULL, logged, on
 * failure. */
const char *process_folder_open(const char *keep, char own[PROCESS_PATH_BYTES]);

/* Finds the processes that an earlier command finished. STATUS_USAGE for a file of another program or with other
 * options; STATUS_FINDING if one has a failed cell. The caller closes *series, even after an error. */
enum status process_series_open(struct process_series *series);

/* Releases the series. With `remove`, removes the files and, once it is empty, the folder. Otherwise prints how to
 * continue if `open`. */
void process_series_close(struct process_series *series, bool remove, bool open);

/* Runs process `index` unless it is done. A failed cell is a finding, and the other cells count. */
enum status process_series_run(struct process_series *series, uint64_t index);

/* Adds the first `count` processes, and no other files of the folder. */
enum status process_series_read(const struct process_series *series, uint64_t count, struct sides *sides);

/* Whether the cells of processes with this status can be used. */
bool process_usable(enum status status);

#endif
