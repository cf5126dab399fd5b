/* SPDX-License-Identifier: MIT
 * Modules: kernels of the program, loaded by the driver, which is opened at run time. */
#ifndef CBANK_CUDA_MODULE_H
#define CBANK_CUDA_MODULE_H

#include <stddef.h>

#include <cuda.h>

#include "device.h"
#include "status.h"

/* Driver functions that cudart has no equal of: F(function, member). */
#define DRIVER_FUNCTIONS(F)                       \
    F(cuModuleLoadData, module_load)              \
    F(cuModuleUnload, module_unload)              \
    F(cuModuleGetFunction, module_function)       \
    F(cuModuleGetGlobal, module_global)           \
    F(cuFuncGetAttribute, function_attribute)     \
    F(cuFuncSetAttribute, set_function_attribute) \
    F(cuLaunchKernel, launch)                     \
    F(cuLinkCreate, link_create)                  \
    F(cuLinkAddData, link_add)                    \
    F(cuLinkComplete, link_complete)              \
    F(cuLinkDestroy, link_destroy)                \
    F(cuCtxGetCurrent, context_current)           \
    F(cuGetErrorString, error_text)

struct driver_functions {
#define MEMBER(function, member) __typeof__(function) *member;
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

/* Loads a module of the program's archive on the device that info describes, whose context is current: from machine
 * code, else from PTX. STATUS_ENVIRONMENT, logged, when it cannot. On success the caller unloads. */
enum status cuda_module_load(const struct driver_functions *driver, const struct device_info *info, const char *name,
                             struct cuda_module *module);

/* Finds the module's constant bank of CBANK_TABLE_BYTES, a variable of that name. STATUS_ENVIRONMENT, logged, when there
 * is none. */
enum status cuda_module_find_bank(const struct driver_functions *driver, const char *name, struct cuda_module *module);

/* Releases; accepts a zeroed struct. */
void cuda_module_unload(const struct driver_functions *driver, struct cuda_module *module);

#endif
