/* SPDX-License-Identifier: MIT
 * Finds the kernels of probes.cu in the program, and checks their loads. */
#include <stdlib.h>
#include <string.h>

#include "cuda_probe_parts.h"
#include "log.h"

enum { LOADS_OF_WALK = 2 }; /* one untimed, one timed */

/* Finds the kernel whose mangled name starts with `prefix`; false if the program has none. */
static bool find_kernel(struct cuda_probe *probe, const char *prefix, struct cuda_probe_kernel *out,
                        struct kernel_sass *sass)
{
    struct probe_kernel *found = &out->found;

    if (!image_function(probe->module.cubin, probe->module.cubin_bytes, prefix, sass) ||
        !cuda_module_function(&probe->device, &probe->module, sass->symbol, &out->function))
        return false;
    snprintf(found->name, sizeof(found->name), "%s", sass->symbol);
    snprintf(found->sha256, sizeof(found->sha256), "%s", sass->sha256);
    if (sass->known)
        image_classes(sass, found->loads);
    found->usable = true;
    return true;
}

static void refuse(struct probe_kernel *kernel, const char *what, uint32_t loads, const char *class)
{
    kernel->usable = false;
    snprintf(kernel->reason, sizeof(kernel->reason), "%.60s wants %u %s; the compiler made %.150s", what,
             (unsigned)loads, class, kernel->loads[0] ? kernel->loads : "no load of any class");
}

static void find_path_kernel(struct cuda_probe *probe, enum probe_kind kind, size_t row)
{
    const struct path *path = &paths[row];
    const uint32_t loads = kind == PROBE_WALK ? LOADS_OF_WALK : PROBE_LOADS;
    struct cuda_probe_kernel *kernel = &probe->kernels[kind][row];
    struct kernel_sass sass;
    char prefix[128];

    /* Itanium C++ ABI name of probe_KIND<path_NAME>. */
    snprintf(prefix, sizeof(prefix), "_Z%zuprobe_%sI%zupath_%sE", strlen("probe_") + strlen(probe_kind_names[kind]),
             probe_kind_names[kind], strlen("path_") + strlen(path->name), path->name);
    if (!find_kernel(probe, prefix, kernel, &sass)) {
        snprintf(kernel->found.reason, sizeof(kernel->found.reason), "%s",
                 path->scope == INDEX_IMMEDIATE ? "an index that the compiler knows depends on no load"
                                                : "the program has no such probe for this GPU");
        return;
    }
    /* All loads must have the path's class, except those that copy a table into shared memory. */
    for (size_t i = 0; sass.known && i < SASS_SEL; i++) {
        const uint32_t wanted = strcmp(sass_names[i][SASS_WORD], path->sass) == 0 ? loads : 0;

        if (image_class_loads(&sass, (enum sass_class)i) != wanted && (path->unit != UNIT_SHARED || i != SASS_LDG))
            refuse(&kernel->found, path->name, loads, path->sass);
    }
    /* The pointer chase gets all of the L1 data cache. */
    if (kind == PROBE_WALK && path->unit != UNIT_SHARED)
        DRIVER_TRY(&probe->device, cuFuncSetAttribute, kernel->function,
                   CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 0);
}

/* Finds a kernel for the constant bank that loads as often as a pointer chase. */
static enum status find_bank_kernel(struct cuda_probe *probe, enum probe_kind kind, const char *symbol)
{
    struct cuda_probe_kernel *kernel = &probe->kernels[kind][0];
    struct kernel_sass sass;

    if (!find_kernel(probe, symbol, kernel, &sass))
        return log_error(STATUS_ENVIRONMENT, "%s has no %s; build the program again", probe->module.image, symbol);
    if (sass.known && image_class_loads(&sass, SASS_LDC) != LOADS_OF_WALK)
        refuse(&kernel->found, symbol, LOADS_OF_WALK, sass_names[SASS_LDC][SASS_WORD]);
    return STATUS_OK;
}

enum status cuda_probe_find_kernels(struct cuda_probe *probe)
{
    static const char *const of_bank[PROBE_KIND_COUNT] = {
        [PROBE_SHARING] = "probe_sharing", [PROBE_RELAY] = "probe_relay", [PROBE_CODE] = "probe_code"};
    enum status status = STATUS_OK;

    for (size_t i = 0; status == STATUS_OK && i < PROBE_KIND_COUNT; i++) {
        const enum probe_kind kind = (enum probe_kind)i;

        probe->kernels[kind] = calloc(path_count, sizeof(*probe->kernels[kind]));
        if (!probe->kernels[kind])
            return log_memory("the kernels of probes");
        for (size_t row = 0; !probe_is_single(kind) && row < path_count; row++)
            find_path_kernel(probe, kind, row);
        if (of_bank[kind])
            status = find_bank_kernel(probe, kind, of_bank[kind]);
    }
    return status == STATUS_OK ? cuda_module_find_bank(&probe->device, "probe_bank", &probe->module) : status;
}
