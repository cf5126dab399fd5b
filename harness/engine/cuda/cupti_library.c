/* SPDX-License-Identifier: MIT */
#include "cupti_library.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "library.h"

#ifndef CBANK_CUDA_FOLDER
#define CBANK_CUDA_FOLDER "/usr/local/cuda"
#endif

static const struct library_symbol symbols[] = {
#define SYMBOL(name) {#name, offsetof(struct cupti_functions, name)},
    CUPTI_FUNCTIONS(SYMBOL)
#undef SYMBOL
};

/* A place to look: an environment variable's value or a fixed folder, and what comes below it. */
struct place {
    const char *variable, *folder, *below;
};

static const struct place places[] = {
    {.variable = "CBANK_CUPTI_DIR", .below = ""},
    {.variable = "CUDA_HOME", .below = "/lib64"},
    {.variable = "CUDA_HOME", .below = "/extras/CUPTI/lib64"},
    {.variable = "CUDA_PATH", .below = "/lib64"},
    {.variable = "CUDA_PATH", .below = "/extras/CUPTI/lib64"},
    {.folder = CBANK_CUDA_FOLDER, .below = "/lib64"},
    {.folder = CBANK_CUDA_FOLDER, .below = "/extras/CUPTI/lib64"},
    {.folder = "/usr/local/cuda", .below = "/lib64"},
    {.folder = "/usr/local/cuda", .below = "/extras/CUPTI/lib64"},
    {.folder = "", .below = ""}, /* the loader's path */
};

static const char *const library_names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};

/* RTLD_NODELETE: once it has profiled, CUPTI's hooks stay in the driver, and unloading it would crash the
 * next CUDA call. */
static void *open_in(const char *folder, const char *name, int flags)
{
    char path[CUPTI_FOLDER_BYTES + 64];

    snprintf(path, sizeof(path), "%s%s%s", folder, folder[0] ? "/" : "", name);
    return dlopen(path, RTLD_NOW | RTLD_NODELETE | flags);
}

/* Opens the pair that lies in one place; without libcupti there nothing stays open. */
static void open_place(struct cupti *cupti, const struct place *place)
{
    const char *root = place->variable ? getenv(place->variable) : place->folder;

    if (!root || (place->variable && !root[0]) ||
        snprintf(cupti->folder, sizeof(cupti->folder), "%s%s", root, place->below) >= CUPTI_FOLDER_BYTES)
        return;
    cupti->perf = open_in(cupti->folder, "libnvperf_host.so", RTLD_GLOBAL);
    for (size_t i = 0; !cupti->library && i < sizeof(library_names) / sizeof(library_names[0]); i++)
        cupti->library = open_in(cupti->folder, library_names[i], RTLD_LOCAL);
    if (cupti->library || !cupti->perf)
        return;
    dlclose(cupti->perf);
    cupti->perf = NULL;
}

/* Looks in the places in turn; in the first alone where the user names it. */
static void open_libraries(struct cupti *cupti)
{
    const char *named = getenv(places[0].variable);
    const size_t count = named && named[0] ? 1 : sizeof(places) / sizeof(places[0]);

    for (size_t i = 0; !cupti->library && i < count; i++)
        open_place(cupti, &places[i]);
}

static const char *folder_text(const struct cupti *cupti)
{
    return cupti->folder[0] ? cupti->folder : "the loader's path";
}

enum counter_status cupti_open(struct cupti **out, char reason[CUPTI_REASON_BYTES])
{
    struct cupti *cupti = calloc(1, sizeof(*cupti));
    const char *missing = "";

    if (cupti)
        open_libraries(cupti);
    if (!cupti || !cupti->library) {
        snprintf(reason, CUPTI_REASON_BYTES, "%s",
                 cupti ? "libcupti not found; install the CUDA toolkit's CUPTI, or name its folder in CBANK_CUPTI_DIR"
                       : "out of memory for CUPTI; free some memory");
    } else if (!library_bind(cupti->library, symbols, sizeof(symbols) / sizeof(symbols[0]), &cupti->f, &missing)) {
        snprintf(reason, CUPTI_REASON_BYTES, "libcupti in %.100s has no %s; CUDA 12.6 update 2 or later is needed",
                 folder_text(cupti), missing);
    } else {
        *out = cupti;
        return COUNTER_OK;
    }
    cupti_close(cupti);
    return COUNTER_UNAVAILABLE;
}

void cupti_close(struct cupti *cupti)
{
    if (!cupti)
        return;
    if (cupti->library)
        dlclose(cupti->library);
    if (cupti->perf)
        dlclose(cupti->perf);
    free(cupti);
}

void cupti_describe(const struct cupti *cupti, char *text, size_t bytes)
{
    uint32_t version = 0;

    cupti->f.cuptiGetVersion(&version);
    snprintf(text, bytes, "API version %u in %s", (unsigned)version, folder_text(cupti));
}

/* -- errors ------------------------------------------------------------------------------------------- */

/* What an error of CUPTI means for the counters, and what to do about it. */
struct cupti_error {
    CUptiResult code;
    enum counter_status status;
    const char *remedy;
};

static const struct cupti_error errors[] = {
    {CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, COUNTER_NO_PERMISSION,
     "run as root or with CAP_SYS_ADMIN, or load the driver with NVreg_RestrictProfilingToAdminUsers=0"},
    {CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES, COUNTER_NO_PERMISSION,
     "the host must enable profiling for this vGPU"},
    {CUPTI_ERROR_NOT_INITIALIZED, COUNTER_UNAVAILABLE, "libnvperf_host.so was not found beside libcupti"},
    {CUPTI_ERROR_HARDWARE_BUSY, COUNTER_UNAVAILABLE, "another profiler (ncu, nsys, DCGM) holds the counters"},
    {CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, COUNTER_UNAVAILABLE,
     "another profiler or sanitizer holds the counters"},
    {CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED, COUNTER_UNAVAILABLE, "turn confidential computing off"},
    {CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED, COUNTER_UNAVAILABLE, "use a device without MIG"},
};

enum counter_status cupti_failed(const struct cupti *cupti, CUptiResult code, const char *function,
                                 char reason[CUPTI_REASON_BYTES])
{
    const char *message = NULL;

    cupti->f.cuptiGetErrorMessage(code, &message);
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
        if (errors[i].code == code) {
            snprintf(reason, CUPTI_REASON_BYTES, "%s: error %d; %s", function, (int)code, errors[i].remedy);
            return errors[i].status;
        }
    snprintf(reason, CUPTI_REASON_BYTES, "%s: error %d, %s", function, (int)code, message ? message : "no message");
    return COUNTER_UNAVAILABLE;
}
