/* SPDX-License-Identifier: MIT */
#include "cuda_module.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image.h"
#include "library.h"
#include "log.h"

/* -- the driver --------------------------------------------------------------------------------------- */

/* The vendor's header stands a version behind some names: cuModuleGetGlobal is cuModuleGetGlobal_v2. */
#define TEXT(function)           #function
#define SYMBOL(function, member) {TEXT(function), offsetof(struct driver_functions, member)},

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

    driver->error_text(code, &text);
    return text ? text : "unknown error";
}

/* -- modules ------------------------------------------------------------------------------------------ */

/* Compiles PTX with the driver; the cubin lives as long as module->link. */
static CUresult link_ptx(const struct driver_functions *driver, struct cuda_module *module, const struct image *image)
{
    char *text = malloc(image->bytes + 1); /* the driver wants a NUL at the end */
    void *cubin;
    CUresult code;

    if (!text)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(text, image->data, image->bytes);
    text[image->bytes] = '\0';
    code = driver->link_create(0, NULL, NULL, &module->link);
    if (code == CUDA_SUCCESS)
        code = driver->link_add(module->link, CU_JIT_INPUT_PTX, text, image->bytes + 1, module->image, 0, NULL, NULL);
    free(text);
    if (code == CUDA_SUCCESS)
        code = driver->link_complete(module->link, &cubin, &module->cubin_bytes);
    if (code == CUDA_SUCCESS)
        module->cubin = cubin;
    return code;
}

enum status cuda_module_load(const struct driver_functions *driver, const struct device_info *info, const char *name,
                             struct cuda_module *module)
{
    const unsigned major = info->cc_major, minor = info->cc_minor;
    struct image image;
    CUresult code = CUDA_SUCCESS;
    const bool machine_code = image_for_chip(name, major, minor, &image);

    if (!machine_code && !image_ptx(name, major, minor, &image))
        return log_error(STATUS_ENVIRONMENT,
                         "this program has no kernels for %s (compute capability %u.%u); build it with make ARCHS=%u%u",
                         info->name, major, minor, major, minor);
    snprintf(module->image, sizeof(module->image), "%.*s", (int)image.name_bytes, image.name);
    module->cubin = image.data;
    module->cubin_bytes = image.bytes;
    if (!machine_code)
        code = link_ptx(driver, module, &image);
    if (code == CUDA_SUCCESS)
        code = driver->module_load(&module->module, module->cubin);
    if (code == CUDA_SUCCESS)
        return STATUS_OK;
    return log_error(STATUS_ENVIRONMENT, "cannot load %s on %s: %s", module->image, info->name,
                     cuda_driver_error(driver, code));
}

enum status cuda_module_find_bank(const struct driver_functions *driver, const char *name, struct cuda_module *module)
{
    size_t bytes = 0;

    if (driver->module_global(&module->bank, &bytes, module->module, name) == CUDA_SUCCESS &&
        bytes == CBANK_TABLE_BYTES)
        return STATUS_OK;
    return log_error(STATUS_ENVIRONMENT, "%s has no constant bank of %u bytes; build the program again", module->image,
                     CBANK_TABLE_BYTES);
}

void cuda_module_unload(const struct driver_functions *driver, struct cuda_module *module)
{
    if (module->module)
        driver->module_unload(module->module);
    if (module->link)
        driver->link_destroy(module->link);
    *module = (struct cuda_module){0};
}
