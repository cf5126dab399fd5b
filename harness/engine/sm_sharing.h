/* SPDX-License-Identifier: MIT
 * The groups of SMs that share a constant cache, from the answers of the probe PROBE_SHARING. Every
 * SM in turn loads a region, and the others time a load of it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe_source.h"

/* Answers a request. STATUS_OK, or why there is no answer, logged. */
typedef enum status sm_sharing_ask(void *context, const struct probe_request *request,
                                   uint32_t *answer);

/* The answers of the probe, with every SM as the first. */
struct sm_sharing {
    uint32_t sm_count;
    uint32_t *cycles; /* owned: [first SM][other SM] of its load, 0 if not known */
    uint32_t *own; /* part of cycles: [request] of a load that the first level of an SM answers */
    uint32_t *answer; /* part of cycles: the last one */
    bool at_once; /* false: the SMs did not all run at the same time, and nothing is known */
    bool complete; /* the time between any two SMs is known */
};

/* The request of a chip whose caches nobody measured. */
struct probe_request sm_sharing_request(uint32_t sm_count);

/* Makes the request with every block as the first. STATUS_ENVIRONMENT, logged, when out of memory;
 * else the status of the first answer that is missing. The caller closes *out in either case. */
enum status sm_sharing_measure(struct sm_sharing *out, struct probe_request request,
                               sm_sharing_ask *ask, void *context);

/* Releases; accepts a zeroed struct. */
void sm_sharing_close(struct sm_sharing *sharing);

/* Whether the time between two SMs is known. */
bool sm_sharing_known(const struct sm_sharing *sharing, size_t pair);

/* Cycles that tell a shared cache from what is behind it, by the times alone. Loads that the cache
 * answered take nearly the same time. All others take at least half as long again. NaN if the times
 * do not fall into these two kinds, or if they are not complete. */
double sm_sharing_threshold(const struct sm_sharing *sharing);

/* Numbers the groups: group[SM]. Returns how many there are. */
uint32_t sm_sharing_groups(const struct sm_sharing *sharing, double threshold, uint32_t *group);

/* Share of the pairs of SMs that disagree with the groups. */
double sm_sharing_disagreement(const struct sm_sharing *sharing, double threshold,
                               const uint32_t *group);
