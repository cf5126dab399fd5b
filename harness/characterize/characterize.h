/* SPDX-License-Identifier: MIT
 * Runs the experiments on one chip. The same analysis runs on the answers of a GPU and on a record of them. */
#ifndef CBANK_CHARACTERIZE_H
#define CBANK_CHARACTERIZE_H

#include "characterization.h"

extern const struct experiment experiments[];
extern const size_t experiment_count;

/* Called before each experiment. */
typedef void characterize_progress(const struct experiment *experiment, size_t done);

/* Runs all experiments on the device of out->device; `progress` may be NULL. An experiment that cannot run is skipped,
 * with the reason. If `recorded` is not NULL, it is the file that answers, and experiments that it lacks are skipped.
 * Sets out->probes and the outcomes, whose evidence lies in the record. STATUS_OK, or the status of the source. The
 * caller closes *out in either case. */
enum status characterize(struct probe_record *record, const struct characterization *recorded,
                         characterize_progress *progress, struct characterization *out);

#endif
