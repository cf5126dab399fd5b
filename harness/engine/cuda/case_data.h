/* SPDX-License-Identifier: MIT
 * Cases of users' kernel files on a device. A kernel at one size has buffers and tables, which its
 * builds share: a struct case_data. A build of it on the device is the `origin` of a launchable, a
 * struct case_build. cbank_case.h explains the calls that describe and fill them.
 *
 * Buffers lie between guard zones. */
#pragma once

#include "cuda_check.h"
#include "kernel_file.h"

/* of a guard zone: before the first element of a buffer, and behind the last one */
enum { CASE_GUARD_BYTES = 4096 };

/* A case at one size. */
struct case_data {
    struct cuda_data data; /* first; its elements are the size */
    uint64_t hash;         /* of the kernel file */
    bool against;          /* it is of --against */
    /* of the build that declared it: only its buffers and tables count */
    struct cbank_case_report report;
    unsigned char *kept[CBANK_BUFFERS_MAX]; /* owned: outputs of its first right build, if others
                                             * are held against them; else NULL */
    /* "with constant": the build whose outputs are kept */
    char like[USER_KERNEL_SPACES_BYTES + 8];
};

extern const struct cuda_data_kind case_kind;

/* A build on the device. */
struct case_build {
    const struct kernel_build *build; /* not owned */
    struct cuda_module compiled; /* what the driver made of its PTX; else not there */
    struct cuda_module modules[CUDA_MODULE_COPIES];
    CUfunction call; /* cbank_case_call */
    struct cbank_case_report report;
};

/* The build of a launchable, and its data. */
struct case_build *case_build_of(const struct launchable *launchable);
struct case_data *case_data_of(const struct launchable *launchable);

/* Declares the data of a case, unless the device has data of the same buffers and tables. NULL when
 * out of memory. */
struct case_data *case_data_find(struct cuda_device *device, const struct case_build *by,
                                 uint64_t size);

/* A call of cbank_case_call with the addresses of a buffer set; the caller may change it. */
struct cbank_request case_request(const struct case_data *data, uint32_t buffer_set,
                                  enum cbank_call call, uint32_t number);

/* Enqueues it, for so many elements. */
bool case_call(struct cuda_device *device, const struct case_build *by,
               struct cbank_request request, uint64_t elements);

/* Describes the case in by->report, and waits. */
bool case_describe(struct cuda_device *device, struct case_build *by, struct cbank_request request);
