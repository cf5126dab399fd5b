/* SPDX-License-Identifier: MIT
 * What is wrong with the folder of a chip: missing, malformed, or in contradiction to itself. */
#ifndef CBANK_CHECK_H
#define CBANK_CHECK_H

#include "chip.h"

/* Something that is wrong. */
struct chip_finding {
    char file[256];
    char what[384];
    char remedy[256]; /* what to do */
};

/* What a folder was found to be. */
struct chip_check {
    char folder[CHIP_PATH_BYTES];
    char name[DEVICE_TEXT_BYTES], chip[DEVICE_TEXT_BYTES], driver[DEVICE_TEXT_BYTES]; /* of the GPU; "" not known */
    char credit[CHIP_CREDIT_BYTES];
    uint64_t files, bytes;
    struct chip_finding *findings; /* owned */
    size_t count;
};

/* Looks at a folder. STATUS_OK also where there are findings; STATUS_USAGE, logged, where there is no such folder,
 * STATUS_ENVIRONMENT out of memory. `brief`: it was made by the plans of tests, and may be. The caller closes *out in
 * either case. */
enum status chip_check(const char *folder, bool brief, struct chip_check *out);

/* Adds a finding. STATUS_ENVIRONMENT, logged, out of memory. */
__attribute__((format(printf, 4, 5))) enum status check_add(struct chip_check *check, const char *file,
                                                            const char *remedy, const char *format, ...);

/* Adds a finding where the two processes of the default plan, which are there, do not say the same. */
enum status check_twice(struct chip_check *check);

void check_close(struct chip_check *check);

/* Prints what was found of folders as text. STATUS_ENVIRONMENT out of memory. */
enum status check_print(const struct chip_check *checks, size_t count, bool color);

/* STATUS_FINDING where there are findings. */
enum status check_verdict(const struct chip_check *checks, size_t count);

#endif
