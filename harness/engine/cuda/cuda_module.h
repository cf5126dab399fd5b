/* SPDX-License-Identifier: MIT
 * Modules: kernels of the program, loaded by the driver, which is opened at run time. */
#ifndef CBANK_CUDA_MODULE_H
#define CBANK_CUDA_MODULE_H

#include <stdbool.h>
#include <stddef.h>

#include <cuda.h>

#include "cell.h"
#include "status.h"

/* Driver functions that cudart has no equal of. */
#define DRIVER_FUNCTIONS(F)                        \
    F(cuModuleLoadData)                            \
    F(cuModuleUnload)                              \
    F(cuModuleGetFunction)                         \
    F(cuModuleGetGlobal)                           \
    F(cuFuncGetAttribute)                          \
    F(cuFuncSetAttribute)                          \
    F(cuOccupancyMaxActiveBlocksPerMultiprocessor) \
    F(cuLaunchKernel)                              \
    F(cuLinkCreate)                                \
    F(cuLinkAddData)                               \
    F(cuLinkComplete)                              \
    F(cuLinkDestroy)                               \
    F(cuCtxGetCurrent)                             \
    F(cuGetErrorString)

struct driver_functions {
#define MEMBER(function) __typeof__(function) *function;
    DRIVER_FUNCTIONS(MEMBER)
#undef MEMBER
};

/* A loaded module and the cubin that it was loaded from. */
struct cuda_module {
    CUmodule module;
    CUlinkState link;    /* holds the cubin when it was compiled from PTX; NULL else */
    const void *cubin;
    size_t cubin_bytes;
    char image[64];      /* member of the program's archive */
    CUdeviceptr bank;    /* its constant bank; 0 for the tools */
};

/* Opens the driver. STATUS_ENVIRONMENT, logged, when it is not there or too old. */
enum status cuda_driver_open(struct driver_functions *driver);

/* Text of an error. */
const char *cuda_driver_error(const struct driver_functions *driver, CUresult code);

struct cuda_device;

/* Loads a module of the program's archive on the device, whose context is current: from machine code, else from PTX.
 * STATUS_ENVIRONMENT, logged, when it cannot. On success the caller unloads. */
enum status cuda_module_load(struct cuda_device *device, const char *name, struct cuda_module *module);

/* Loads the code of a module, which stays loaded as long, once more: at another place, with a constant bank of its own.
 * STATUS_ENVIRONMENT, logged, when it cannot. On success the caller unloads. */
enum status cuda_module_copy(struct cuda_device *device, const struct cuda_module *of, struct cuda_module *module);

/* Finds the module's constant bank of CBANK_TABLE_BYTES, a variable of that name. STATUS_ENVIRONMENT, logged, when
 * there is none. */
enum status cuda_module_find_bank(struct cuda_device *device, const char *name, struct cuda_module *module);

/* Finds a kernel of the module. */
bool cuda_module_function(struct cuda_device *device, const struct cuda_module *module, const char *name,
                          CUfunction *function);

/* Gives a kernel so many bytes of dynamic shared memory a block. False, with the reason, where the GPU has less. */
bool cuda_function_allow_shared(struct cuda_device *device, CUfunction function, uint32_t bytes,
                                char reason[CELL_REASON_BYTES]);

/* Bytes of shared memory that a block of a kernel has of its own. */
uint32_t cuda_function_shared(struct cuda_device *device, CUfunction function);

/* Blocks of a kernel that an SM runs at a time, with the dynamic shared memory that they ask for. 0 when a call failed. */
uint32_t cuda_function_blocks(struct cuda_device *device, CUfunction function, uint32_t threads, uint32_t shared_bytes);

/* Registers that a thread of a kernel uses. */
uint32_t cuda_function_registers(struct cuda_device *device, CUfunction function);

/* Releases; accepts a zeroed struct. */
void cuda_module_unload(struct cuda_device *device, struct cuda_module *module);

#endif
