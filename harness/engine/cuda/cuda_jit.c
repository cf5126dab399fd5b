/* SPDX-License-Identifier: MIT
 * The driver's compiler. The linker gives the cubin back, which cuModuleLoadData of PTX does not:
 * so that what ran is read, like any other code. */
#include "cuda_jit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "code_change.h"
#include "kernel_usage.h"
#include "log.h"
#include "sass_code.h"
#include "text.h"

/* -- compiling --------------------------------------------------------------------------------- */

static enum status cannot_compile(const struct cuda_device *device)
{
    return log_error(STATUS_ENVIRONMENT,
                     "the NVIDIA driver has no %s, which compiles kernels; update the driver, or "
                     "leave out --jit",
                     device->linker_missing);
}

enum status cuda_jit_check(const struct cuda_device *device, const struct result *result)
{
    const unsigned major = device->info->cc_major, minor = device->info->cc_minor;
    struct image image;

    for (size_t i = 0; i < result->cell_count; i++) {
        const struct cell_result *cell = &result->cells[i];

        if (!cell->cell.jit || cell->status != CELL_PENDING)
            continue;
        if (device->linker_missing)
            return cannot_compile(device);
        if (!cell->cell.kernel.name[0] &&
            !image_ptx(cell->cell.workload->name, major, minor, &image))
            return log_error(STATUS_ENVIRONMENT,
                             "--jit: this program has no PTX that a driver compiles for %s "
                             "(compute capability %u.%u); build it with make ARCHS=%u%u",
                             device->info->name, major, minor, major, minor);
    }
    return STATUS_OK;
}

/* Links a text that ends in a NUL. */
static bool link_text(struct cuda_device *device, char *text, size_t bytes, const char *name,
                      struct cuda_module *module, void **cubin)
{
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {module->messages, (void *)(uintptr_t)CUDA_MESSAGES_BYTES};

    return DRIVER(device, cuLinkCreate, sizeof(options) / sizeof(options[0]), options, values,
                  &module->link) &&
           DRIVER(device, cuLinkAddData, module->link, CU_JIT_INPUT_PTX, text, bytes, name, 0, NULL,
                  NULL) &&
           DRIVER(device, cuLinkComplete, module->link, cubin, &module->cubin_bytes);
}

enum status cuda_jit_compile(struct cuda_device *device, const struct cuda_ptx *ptx,
                             struct cuda_module *module)
{
    const double start = clock_seconds();
    char *const text = malloc(ptx->bytes + 1);
    void *cubin = NULL;
    bool linked;

    module->messages = calloc(1, CUDA_MESSAGES_BYTES);
    if (device->linker_missing || !text || !module->messages) {
        free(text);
        return device->linker_missing ? cannot_compile(device) : log_memory("%s", ptx->name);
    }
    memcpy(text, ptx->text, ptx->bytes);
    text[ptx->bytes] = '\0';
    linked = link_text(device, text, ptx->bytes + 1, ptx->name, module, &cubin);
    free(text);
    if (!linked)
        return log_error(STATUS_ENVIRONMENT, "cannot compile %s for %s: %s%s%.*s", ptx->name,
                         device->info->name, device->calls.failed ? device->calls.error : "",
                         module->messages[0] ? ": " : "", (int)strcspn(module->messages, "\n"),
                         module->messages);
    module->cubin = cubin;
    module->compile_ms = 1e3 * (clock_seconds() - start);
    return STATUS_OK;
}

/* -- what it made ------------------------------------------------------------------------------ */

static uint32_t count_kernels(const struct cuda_module *module)
{
    char reason[CUBIN_REASON_BYTES];
    struct cubin_function function;
    struct cubin cubin;
    uint64_t place = 0;
    uint32_t count = 0;

    if (cubin_open(module->cubin, module->cubin_bytes, &cubin, reason))
        while (cubin_next(&cubin, &place, &function))
            count += function.kernel;
    return count;
}

/* What a cubin says of a kernel. */
static enum status read_usage(const void *data, size_t bytes, const char *symbol,
                              struct optional *registers, struct optional *local_bytes)
{
    char reason[CUBIN_REASON_BYTES];
    struct cubin_function function;
    struct kernel_usages usages;
    struct kernel_usage usage;
    struct cubin cubin;
    enum status status;

    if (!cubin_find(data, bytes, symbol, &function) || !cubin_open(data, bytes, &cubin, reason))
        return STATUS_OK;
    status = kernel_usages_open(&cubin, &usages);
    if (status != STATUS_OK)
        return status;
    kernel_usage_read(&cubin, &usages, &function, &usage);
    *registers = usage.registers;
    *local_bytes = usage.stack_bytes;
    kernel_usages_close(&usages);
    return STATUS_OK;
}

enum status cuda_jit_describe(const struct cuda_module *module, const void *cubin, size_t bytes,
                              const char *image, struct cell_kernel *kernel)
{
    const char *const off = getenv("CUDA_CACHE_DISABLE");
    struct kernel_jit *const jit = &kernel->jit;
    struct kernel_sass toolkit;
    enum status status;
    char *code;

    *jit = (struct kernel_jit){.given = true,
                               .compute_cache = off && strcmp(off, "1") == 0 ? "off" : NULL,
                               .compile_ms = module->compile_ms,
                               .cubin_bytes = module->cubin_bytes,
                               .cubin_kernels = count_kernels(module)};
    status = read_usage(module->cubin, module->cubin_bytes, kernel->symbol, &jit->registers,
                        &jit->local_bytes);
    if (status != STATUS_OK)
        return status;
    if (!cubin || !image_function(cubin, bytes, kernel->symbol, &toolkit))
        return STATUS_OK;
    snprintf(jit->toolkit_image, sizeof(jit->toolkit_image), "%.63s", image);
    memcpy(jit->toolkit.sha256, toolkit.sha256, sizeof(jit->toolkit.sha256));
    jit->toolkit.bytes = toolkit.bytes;
    status = read_usage(cubin, bytes, kernel->symbol, &jit->toolkit.registers,
                        &jit->toolkit.local_bytes);
    if (status != STATUS_OK || !toolkit.known || strcmp(toolkit.sha256, kernel->sha256) == 0)
        return status;
    code = sass_code_text(toolkit.code, toolkit.bytes, toolkit.counts.architecture);
    if (!code)
        return log_memory("the code of a kernel");
    jit->moved = code_moved(code, kernel->code);
    if (!code_change(code, kernel->code, jit->change, sizeof(jit->change)))
        jit->change[0] = '\0';
    free(code);
    return STATUS_OK;
}
