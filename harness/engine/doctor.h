/* SPDX-License-Identifier: MIT
 * The findings of `cbank doctor`: a list to which the engines add. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum finding_grade { FINDING_OK, FINDING_WARNING, FINDING_PROBLEM };

struct finding {
    char finding[8];     /* its grade as a word */
    char subject[32];    /* the thing that was checked */
    char detail[512];    /* the observation */
    char remedy[512];    /* how to fix it; "" if all is well */
};

struct diagnosis {
    struct finding *findings; /* owned */
    size_t count;
    bool problem;    /* one of them is a problem */
    bool incomplete; /* memory ran out for a finding, and this was logged */
};

/* Adds a finding. remedy is NULL if all is well. */
__attribute__((format(printf, 5, 6))) void diagnosis_add(struct diagnosis *diagnosis,
                                                         enum finding_grade grade,
                                                         const char *subject, const char *remedy,
                                                         const char *format, ...);

/* Adds a reason of the form "problem; remedy". */
void diagnosis_add_reason(struct diagnosis *diagnosis, enum finding_grade grade,
                          const char *subject, const char *reason);
