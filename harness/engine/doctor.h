/* SPDX-License-Identifier: MIT
 * What `cbank doctor` finds: a list that the engines add to. */
#ifndef CBANK_DOCTOR_H
#define CBANK_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

enum finding_grade { FINDING_OK, FINDING_WARNING, FINDING_PROBLEM };

struct finding {
    enum finding_grade grade;
    char subject[32];    /* what was looked at */
    char detail[512];    /* what was seen */
    char remedy[256];    /* how to mend it; "" when all is well */
};

struct diagnosis {
    struct finding *findings; /* owned */
    size_t count;
    bool incomplete; /* memory ran out for a finding, and that was said */
};

/* Adds a finding. remedy is NULL when all is well. */
__attribute__((format(printf, 5, 6))) void diagnosis_add(struct diagnosis *diagnosis, enum finding_grade grade,
                                                         const char *subject, const char *remedy, const char *format,
                                                         ...);

/* Adds a reason of the form "what is wrong; what to do". */
void diagnosis_add_reason(struct diagnosis *diagnosis, enum finding_grade grade, const char *subject,
                          const char *reason);

#endif
