/* SPDX-License-Identifier: MIT */
#include "cuda_module.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_device.h"
#include "library.h"
#include "log.h"

/* -- the driver --------------------------------------------------------------------------------------- */

/* The vendor's header stands a version behind some names: cuModuleGetGlobal is cuModuleGetGlobal_v2. */
#define TEXT(function)   #function
#define SYMBOL(function) {TEXT(function), offsetof(struct driver_functions, function)},

static const struct library_symbol symbols[] = {DRIVER_FUNCTIONS(SYMBOL)};

enum status cuda_driver_open(struct driver_functions *driver)
{
    void *const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    const char *missing = "libcuda.so.1";

    if (library && library_bind(library, symbols, sizeof(symbols) / sizeof(symbols[0]), driver, &missing))
        return STATUS_OK;
    return log_error(STATUS_ENVIRONMENT, "the NVIDIA driver has no %s; update the driver", missing);
}

const char *cuda_driver_error(const struct driver_functions *driver, CUresult code)
{
    const char *text = NULL;

    driver->cuGetErrorString(code, &text);
    return text ? text : "unknown error";
}

/* -- modules ------------------------------------------------------------------------------------------ */

/* Compiles PTX with the driver; the cubin lives as long as module->link. */
static bool link_ptx(struct cuda_device *device, struct cuda_module *module, const struct image *image)
{
    char *text = malloc(image->bytes + 1); /* the driver wants a NUL at the end */
    void *cubin;
    bool linked = false;

    if (!text)
        return false;
    memcpy(text, image->data, image->bytes);
    text[image->bytes] = '\0';
    if (DRIVER(device, cuLinkCreate, 0, NULL, NULL, &module->link))
        linked = DRIVER(device, cuLinkAddData, module->link, CU_JIT_INPUT_PTX, text, image->bytes + 1, module->image, 0,
                        NULL, NULL) &&
                 DRIVER(device, cuLinkComplete, module->link, &cubin, &module->cubin_bytes);
    free(text);
    if (linked)
        module->cubin = cubin;
    return linked;
}

/* Loads a module whose code is there. */
static enum status load_code(struct cuda_device *device, struct cuda_module *module)
{
    if (DRIVER(device, cuModuleLoadData, &module->module, module->cubin))
        return STATUS_OK;
    return log_error(STATUS_ENVIRONMENT, "cannot load %s on %s: %s", module->image, device->info->name,
                     device->calls.failed ? device->calls.error : "out of memory");
}

enum status cuda_module_load(struct cuda_device *device, const char *name, struct cuda_module *module)
{
    const unsigned major = device->info->cc_major, minor = device->info->cc_minor;
    struct image image;
    const bool machine_code = image_for_chip(name, major, minor, &image);

    if (!machine_code && !image_ptx(name, major, minor, &image))
        return log_error(STATUS_ENVIRONMENT,
                         "this program has no kernels for %s (compute capability %u.%u); build it with make ARCHS=%u%u",
                         device->info->name, major, minor, major, minor);
    snprintf(module->image, sizeof(module->image), "%.*s", (int)image.name_bytes, image.name);
    module->cubin = image.data;
    module->cubin_bytes = image.bytes;
    if (machine_code || link_ptx(device, module, &image))
        return load_code(device, module);
    return log_error(STATUS_ENVIRONMENT, "cannot compile %s for %s: %s", module->image, device->info->name,
                     device->calls.failed ? device->calls.error : "out of memory");
}

enum status cuda_module_copy(struct cuda_device *device, const struct cuda_module *of, struct cuda_module *module)
{
    *module = (struct cuda_module){.cubin = of->cubin, .cubin_bytes = of->cubin_bytes};
    memcpy(module->image, of->image, sizeof(module->image));
    return load_code(device, module);
}

enum status cuda_module_find_bank(struct cuda_device *device, const char *name, struct cuda_module *module)
{
    size_t bytes = 0;

    if (DRIVER(device, cuModuleGetGlobal, &module->bank, &bytes, module->module, name) && bytes == CBANK_TABLE_BYTES)
        return STATUS_OK;
    return log_error(STATUS_ENVIRONMENT, "%s has no constant bank of %u bytes; build the program again", module->image,
                     CBANK_TABLE_BYTES);
}

bool cuda_module_function(struct cuda_device *device, const struct cuda_module *module, const char *name,
                          CUfunction *function)
{
    return DRIVER(device, cuModuleGetFunction, function, module->module, name);
}

static int function_attribute(struct cuda_device *device, CUfunction_attribute attribute, CUfunction function)
{
    int value = 0;

    DRIVER_TRY(device, cuFuncGetAttribute, &value, attribute, function);
    return value;
}

uint32_t cuda_function_shared(struct cuda_device *device, CUfunction function)
{
    return (uint32_t)function_attribute(device, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function);
}

bool cuda_function_allow_shared(struct cuda_device *device, CUfunction function, uint32_t bytes,
                                char reason[CELL_REASON_BYTES])
{
    const int asked = (int)bytes;
    const int needed = asked + (int)cuda_function_shared(device, function);
    int most = 0;

    CUDA_TRY(device, cudaDeviceGetAttribute, &most, cudaDevAttrMaxSharedMemoryPerBlockOptin, (int)device->ordinal);
    if (needed > most)
        snprintf(reason, CELL_REASON_BYTES, "a block needs %d bytes of shared memory; this GPU gives it %d", needed,
                 most);
    /* Cells of one kernel ask for more and for less. */
    else if (asked > 0 &&
             function_attribute(device, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function) < asked &&
             !DRIVER(device, cuFuncSetAttribute, function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, asked))
        snprintf(reason, CELL_REASON_BYTES, "the driver does not give a block %d bytes of shared memory", asked);
    else
        return true;
    return false;
}

uint32_t cuda_function_blocks(struct cuda_device *device, CUfunction function, uint32_t threads, uint32_t shared_bytes)
{
    int blocks = 0;

    DRIVER_TRY(device, cuOccupancyMaxActiveBlocksPerMultiprocessor, &blocks, function, (int)threads, shared_bytes);
    return (uint32_t)blocks;
}

uint32_t cuda_function_registers(struct cuda_device *device, CUfunction function)
{
    return (uint32_t)function_attribute(device, CU_FUNC_ATTRIBUTE_NUM_REGS, function);
}

void cuda_module_unload(struct cuda_device *device, struct cuda_module *module)
{
    if (module->module)
        DRIVER_TRY(device, cuModuleUnload, module->module);
    if (module->link)
        DRIVER_TRY(device, cuLinkDestroy, module->link);
    *module = (struct cuda_module){0};
}
