/* SPDX-License-Identifier: MIT
 * Processes of this program or another that run one plan, one after the other, for calibrate and
 * gate. The result of each is a file in a folder as soon as it is there:
 *
 *   FOLDER/processes.txt   what is run; another command line does not go on in the folder
 *   FOLDER/base-1.json, new-1.json, new-2.json ...
 */
#pragma once

#include <limits.h>
#include <stdint.h>

#include "command.h"
#include "file_lock.h"
#include "plan_options.h"
#include "scratch.h"
#include "side.h"
#include "status.h"

/* What is run, and where its results are. */
struct processes {
    const struct invocation *invocation;
    const struct measure_options *measure;
    struct texts more; /* words in addition to the command's options of plan and measurement */
    const char *programs[SIDES]; /* as for child_run: NULL is this program */
    const char *folder; /* of results; given by the user, or that of `scratch` */
    struct scratch scratch;
    struct file_lock lock;
    bool base_by_toolkit; /* --jit is for NEW alone */
    size_t measured; /* results in the folder that count */
    bool told; /* messages name a file of the folder */
};

/* Opens a folder for results: `named`, which is made if it is not there, or for NULL a temporary
 * one. The caller has set the first members. STATUS_USAGE, logged, for several devices, and for a
 * folder that has other files or processes of another command line. The caller closes *processes,
 * even after an error. */
enum status processes_open(struct processes *processes, const char *named);

/* Runs process `number` (from 1) of a side, and adds its result; one that the folder already has is
 * not measured again. `alone`: if another process used the GPU meanwhile, the result is dropped,
 * and *dropped set. STATUS_FINDING if a cell failed; the other cells count. */
enum status process_run(struct processes *processes, size_t side, uint64_t number, bool alone,
                        struct sides *sides, bool *dropped);

/* Releases. A temporary folder with results stays if the processes ended before their time, or if
 * one of them found something, as its messages name its file: then it says so. `again` is what goes
 * on with the folder, a command line up to its name. */
void processes_close(struct processes *processes, bool early, const char *again);
