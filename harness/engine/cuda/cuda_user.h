/* SPDX-License-Identifier: MIT
 * Users' kernels on a device. A kernel at one size has buffers and tables, which its builds share:
 * a struct cuda_case. A build of it on the device is a struct cuda_user. cbank_case.h explains the
 * calls that describe and fill them.
 *
 * Buffers lie between guard zones. Buffer sets and table offsets are those of cuda_memory.h. */
#pragma once

#include "cbank_case.h"
#include "cuda_memory.h"
#include "elements.h"
#include "engine_cuda.h"

/* of a guard zone: before the first element of a buffer, and behind the last one */
enum { CUDA_GUARD_BYTES = 4096 };

/* A case at one size, with everything that its builds share. */
struct cuda_case {
    struct cuda_case *next; /* owned: a list */
    uint64_t hash, size;
    /* of the build that made it: only its buffers and tables count */
    struct cbank_case_report report;
    struct cuda_buffer buffers[CBANK_BUFFERS_MAX];
    size_t bytes; /* of all buffers, without guard zones, in a buffer set */
    struct cuda_table tables[CBANK_TABLES_MAX];
    struct cuda_user *users; /* owned: a list */
    unsigned char *kept[CBANK_BUFFERS_MAX]; /* owned: outputs of its first right build, if others
                                             * are held against them; else NULL */
};

/* A build at one size. */
struct cuda_user {
    struct cuda_user *next; /* owned */
    struct cuda_case *of; /* owns it */
    const struct kernel_build *build; /* not owned */
    struct cuda_module modules[CUDA_MODULE_COPIES];
    CUfunction functions[CUDA_MODULE_COPIES]; /* the user's kernel */
    CUfunction call; /* cbank_case_call */
    struct kernel_sass sass;
    struct cbank_case_report report;
    uint32_t shared_bytes; /* dynamic */
    /* the most of any buffer or table that a launch reads or writes */
    uint32_t buffer_sets, table_offsets;
    /* of an argument; of all in a buffer set */
    size_t offsets[CBANK_ARGUMENTS_MAX], argument_bytes;
    unsigned char *arguments; /* owned: those of each buffer set */
};

/* Reads the code of the user's kernel in a build, without a device. False, with the reason, if it
 * is not clear. */
bool cuda_user_sass(const struct kernel_build *build, struct kernel_sass *out,
                    char reason[CELL_REASON_BYTES]);

/* Prepares a cell of a user's kernel: loads its build, asks for its case, and fills one buffer set.
 * A cell that cannot go on is skipped or fails. STATUS_USAGE, logged with file and line, for a case
 * or a .npy file that no size makes right. */
enum status cuda_user_prepare(struct engine_session *session, struct result *result,
                              struct cell_result *cell, struct cuda_cell *cuda);

/* Adds buffer sets to all cases, counts them, and asks for the arguments in each. Called once,
 * after all cells are prepared. */
enum status cuda_users_multiply(struct engine_session *session, struct result *result);

/* Verifies the pending cells of users' kernels. */
engine_phase cuda_users_verify;

/* Releases all cases. */
void cuda_users_close(struct cuda_device *device);

/* The first pending cell of a build at its size that is verified, or that is not; NULL: none. */
struct cell_result *cuda_user_cell(const struct cuda_user *user, struct result *result,
                                   bool verified);

/* -- memory of a case -------------------------------------------------------------------------- */

/* Fills a case's first buffer set by a build, whose report it has. False, with the reason, when out
 * of memory or if a call fails; *status is then the outcome of reading .npy files. */
bool cuda_case_fill(struct cuda_device *device, struct cuda_case *of, const struct cuda_user *by,
                    enum status *status, char reason[CELL_REASON_BYTES]);

/* Adds buffer sets. False if a call failed: then there are fewer. */
bool cuda_case_multiply(struct cuda_device *device, struct cuda_case *of);

/* Copies a .npy file that the case names to *out, which is as large as the elements. STATUS_USAGE,
 * logged, if the file has other elements. */
enum status cuda_case_file(const struct cuda_user *user, const char *name,
                           const struct cbank_buffer_report *elements, void *out);

/* Both release and free; cases own their builds. */
void cuda_user_close(struct cuda_device *device, struct cuda_user *user);
void cuda_case_close(struct cuda_device *device, struct cuda_case *of);

/* -- calls ------------------------------------------------------------------------------------- */

/* A call of cbank_case_call with the addresses of a buffer set; the caller may change it. */
struct cbank_request cuda_case_request(const struct cuda_case *of, uint32_t buffer_set,
                                       enum cbank_call call, uint32_t number);

/* Enqueues it, for so many elements. */
bool cuda_case_call(struct cuda_device *device, const struct cuda_user *user,
                    struct cbank_request request, uint64_t elements);

/* Describes the case in user->report, and waits. */
bool cuda_case_describe(struct cuda_device *device, struct cuda_user *user,
                        struct cbank_request request);

/* A launch of the user's kernel, as cuda_launch_kernel. */
bool cuda_user_launch(struct cuda_device *device, const struct cuda_user *user,
                      struct cuda_turn turn);
