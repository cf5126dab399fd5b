/* SPDX-License-Identifier: MIT
 * Checking what launches write, for any launchable. cuda_verify.c launches; a reference says what
 * to expect; cuda_guard.c looks at what a launch must leave alone. */
#pragma once

#include "launchable.h"

/* Launches of a check: from restored buffers, again without restoring them, and from restored
 * buffers in another buffer set. Outputs are poisoned before. */
enum { CHECK_FIRST, CHECK_AGAIN, CHECK_RESTORED, CHECK_LAUNCHES };

/* Byte that outputs are filled with before a launch. */
extern const unsigned char check_poisons[CHECK_LAUNCHES];

/* A check of a launchable in one of its modules. */
struct check {
    struct launchable *launchable; /* NULL: there is none */
    struct cuda_turn turns[CHECK_LAUNCHES];
    /* By buffer, on the host, not owned: what launches wrote; NULL: not compared. And what inputs
     * and inouts hold before a launch; NULL: they are not looked at. */
    void *seen[CHECK_LAUNCHES][CBANK_BUFFERS_MAX];
    const void *contents[CBANK_BUFFERS_MAX];
    /* as large as the largest buffer, table or guard zone; NULL where nothing is guarded */
    unsigned char *scratch;
    bool last; /* in the last module */
    enum case_reference how;
    uint32_t findings; /* set of enum case_finding */
    char reason[CELL_REASON_BYTES]; /* why its cells fail; "": they do not */
};

/* What is right. */
struct launchable_reference {
    /* Gives a check its memory, before anything is launched. False if a call fails or without
     * memory; *status is not STATUS_OK, logged, if the run ends. */
    bool (*open)(struct engine_session *session, struct result *result, struct check *check,
                 enum status *status);

    /* Compares what the launches wrote. Calls no device: another launch may be running. */
    void (*compare)(struct engine_session *session, struct check *check);

    /* Is told that the check passed. STATUS_ENVIRONMENT, logged, when out of memory. NULL: nothing
     * is kept. */
    enum status (*keep)(struct engine_session *session, const struct check *check);

    /* Releases what is not needed beyond verifying. NULL: nothing. */
    void (*close)(struct engine_session *session);
};

extern const struct launchable_reference workload_reference, launch_reference, case_reference;

/* The first failure is the reason. */
#define check_fails(check, ...) \
    ((void)((check)->reason[0] || cell_refuse((check)->reason, __VA_ARGS__)))

/* Looks at guard zones, and with `contents` at inputs and tables, of a turn, and repairs what is
 * wrong. False if a call failed. */
bool check_guarded(struct cuda_device *device, struct check *check, struct cuda_turn turn,
                   bool contents);
