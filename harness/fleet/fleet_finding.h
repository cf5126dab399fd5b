/* SPDX-License-Identifier: MIT
 * Findings: what changed, told once. Changes of single cells (fleet_judge.h) that are of the same GPUs and of one direction
 * are one finding. */
#ifndef CBANK_FLEET_FINDING_H
#define CBANK_FLEET_FINDING_H

#include "fleet_judge.h"

struct fleet_finding {
    enum fleet_level level;
    enum fleet_against against;
    size_t group; /* of the level, see struct fleet_change */
    bool slower;
    const struct fleet_change *changes; /* of its cells, in their order */
    size_t count;
    const struct fleet_change *surest; /* the one that is the largest multiple of its deviation: it dates the finding */
    double change; /* of the logarithm, the median over its cells */
    size_t members, covered; /* the most of any cell */
};

struct fleet_findings {
    struct fleet_finding *items; /* owned; the coarsest level first, slower ones first, the largest first */
    size_t count;
};

/* Sorts the changes, which findings point into. That a GPU differs from the others is left out where it, or a group of
 * it below the model, changed in that direction. STATUS_ENVIRONMENT: out of memory. The caller closes *out. */
enum status fleet_find(const struct fleet_times *times, struct fleet_changes *changes, struct fleet_findings *out);

/* Releases; accepts a zeroed struct. */
void fleet_findings_close(struct fleet_findings *findings);

#endif
