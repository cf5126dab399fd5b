/* SPDX-License-Identifier: MIT
 * Kernels of a kernel file: the stand-in for nvcc (compiler/nvcc) compiled them for the host. */
#ifndef SIMULATED_USER_KERNEL_H
#define SIMULATED_USER_KERNEL_H

#include "kernel.h"

enum { BANKS_MAX = 16 };

/* How such a kernel is called: struct host_kernel of cbank.cuh. */
struct host_kernel {
    void (*kernel)(void);
    void (*call)(void (*kernel)(void), void **arguments);
    uint64_t count;
    const uint64_t *bytes; /* of each argument */
};

/* The host's code of a module. */
struct user_module {
    void *handle;
    int file;
    char *base;
    const char *shared; /* the shared object, in the image */
    size_t shared_bytes;
    uint64_t spaces;                /* memory spaces of its tables: a bit each */
    const struct cbank_case_info *info; /* of the case; NULL: it has none */
    /* of the user's kernel; NULL where the case cannot be described */
    const struct host_kernel *host;
    struct block *banks[BANKS_MAX]; /* variables that were asked for */
    size_t bank_count;
};

/* The address of a variable, as memory of the device; NULL if there is none. */
void *user_variable(CUmodule module, const char *name, size_t *bytes);

/* Members of a launch beside those of struct launch. */
struct user_launch {
    const struct host_kernel *host;
    void (*kernel)(void);
    uint32_t grid[3], block[3];
    bool timed; /* in a graph */
    void *arguments[]; /* then the values */
};

/* Loads the host's code of a module, a copy of its own. False where that is none; *failed where it
 * cannot be loaded. */
bool user_module_open(CUmodule module, bool *failed);
void user_module_close(struct user_module *user);

/* The address of a symbol, and its size; NULL if there is none. */
void *user_symbol(const struct user_module *user, const char *name, size_t *bytes);

/* The arguments of a launch, copied; NULL where the kernel's are not known, or without memory. */
struct user_launch *user_launch_make(const struct CUfunc_st *function, void **parameters);

/* Runs all threads of a launch. 0; the error that ends the context; CODE_NEVER. */
int user_threads_run(const struct user_launch *launch);

/* For the table of kernels. */
int run_user(struct device *device, struct launch *launch, double *work_ns);

/* Whether it is the kernel that describes the case. */
bool user_is_case(const struct CUfunc_st *function);

/* Whether a fault names this launch: CASE/SPACE, or a glob over it. */
bool user_is_named(const struct user_module *user, const char *name);

#endif
