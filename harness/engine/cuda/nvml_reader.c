/* SPDX-License-Identifier: MIT
 * The declarations of NVML that are needed are written here from its documentation, since its header is not
 * part of every toolkit installation; the ABI of these functions has been stable since NVML 7. */
#include "nvml_reader.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "library.h"

typedef struct nvml_device *nvml_device; /* opaque handle */

enum { NVML_SUCCESS = 0, NVML_ERROR_INSUFFICIENT_SIZE = 7, NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2 };

/* Every function that is used: F(function, member, parameters). */
#define NVML_FUNCTIONS(F)                                                                               \
    F(nvmlInit_v2, init, (void))                                                                        \
    F(nvmlShutdown, shutdown, (void))                                                                   \
    F(nvmlDeviceGetHandleByPciBusId_v2, handle_by_bus_id, (const char *, nvml_device *))                \
    F(nvmlSystemGetDriverVersion, driver_version, (char *, unsigned))                                   \
    F(nvmlDeviceGetVbiosVersion, vbios_version, (nvml_device, char *, unsigned))                        \
    F(nvmlDeviceGetEccMode, ecc_mode, (nvml_device, int *, int *))                                      \
    F(nvmlDeviceGetMigMode, mig_mode, (nvml_device, unsigned *, unsigned *))                            \
    F(nvmlDeviceGetMaxClockInfo, max_clock, (nvml_device, int, unsigned *))                             \
    F(nvmlDeviceGetClockInfo, clock, (nvml_device, int, unsigned *))                                    \
    F(nvmlDeviceGetCurrentClocksThrottleReasons, throttle_reasons, (nvml_device, unsigned long long *)) \
    F(nvmlDeviceGetComputeRunningProcesses, processes, (nvml_device, unsigned *, void *))

struct nvml_functions {
#define MEMBER(function, member, parameters) int(*member) parameters;
    NVML_FUNCTIONS(MEMBER)
#undef MEMBER
};

static const struct library_symbol symbols[] = {
#define SYMBOL(function, member, parameters) {#function, offsetof(struct nvml_functions, member)},
    NVML_FUNCTIONS(SYMBOL)
#undef SYMBOL
};

struct nvml {
    void *library;
    struct nvml_functions f;
    nvml_device device;
};

/* A throttle reason that makes a measurement doubtful (nvmlClocksThrottleReasons). */
struct throttle_reason {
    uint64_t bit;
    const char *name;
};

static const struct throttle_reason throttle_reasons[] = {
    {0x04, "software power cap"},        {0x08, "hardware slowdown"},    {0x20, "software thermal slowdown"},
    {0x40, "hardware thermal slowdown"}, {0x80, "hardware power brake"},
};

enum { REASON_COUNT = sizeof(throttle_reasons) / sizeof(throttle_reasons[0]) };

struct nvml *nvml_open(const char *pci_bus_id)
{
    struct nvml *nvml = calloc(1, sizeof(*nvml));
    const char *missing;

    if (!nvml)
        return NULL;
    nvml->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!nvml->library ||
        !library_bind(nvml->library, symbols, sizeof(symbols) / sizeof(symbols[0]), &nvml->f, &missing) ||
        nvml->f.init() != NVML_SUCCESS) {
        free(nvml);
        return NULL;
    }
    if (nvml->f.handle_by_bus_id(pci_bus_id, &nvml->device) == NVML_SUCCESS)
        return nvml;
    nvml_close(nvml);
    return NULL;
}

void nvml_close(struct nvml *nvml)
{
    if (!nvml)
        return;
    nvml->f.shutdown();
    free(nvml);
}

static void describe_switch(int code, int on, char text[DEVICE_TEXT_BYTES])
{
    if (code == NVML_SUCCESS)
        snprintf(text, DEVICE_TEXT_BYTES, "%s", on ? "on" : "off");
}

void nvml_describe(const struct nvml *nvml, struct device_info *info)
{
    const struct nvml_functions *f = &nvml->f;
    int ecc = 0, ecc_pending;
    unsigned mig = 0, mig_pending, mhz;
    /* In statements of their own: the values are read after the calls. */
    const int ecc_code = f->ecc_mode(nvml->device, &ecc, &ecc_pending);
    const int mig_code = f->mig_mode(nvml->device, &mig, &mig_pending);

    f->driver_version(info->driver, sizeof(info->driver));
    f->vbios_version(nvml->device, info->vbios, sizeof(info->vbios));
    describe_switch(ecc_code, ecc, info->ecc);
    describe_switch(mig_code, mig != 0, info->mig);
    if (f->max_clock(nvml->device, NVML_CLOCK_SM, &mhz) == NVML_SUCCESS)
        info->sm_clock_max_mhz = mhz;
    if (f->max_clock(nvml->device, NVML_CLOCK_MEM, &mhz) == NVML_SUCCESS)
        info->memory_clock_max_mhz = mhz;
}

bool nvml_throttle_reasons(const struct nvml *nvml, uint64_t *reasons)
{
    unsigned long long bits;

    if (!nvml || nvml->f.throttle_reasons(nvml->device, &bits) != NVML_SUCCESS)
        return false;
    *reasons = bits;
    return true;
}

uint64_t nvml_throttle_mask(void)
{
    uint64_t mask = 0;

    for (size_t i = 0; i < REASON_COUNT; i++)
        mask |= throttle_reasons[i].bit;
    return mask;
}

void nvml_throttle_text(uint64_t reasons, char *text, size_t bytes)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < REASON_COUNT; i++)
        if (reasons & throttle_reasons[i].bit && used < bytes)
            used += (size_t)snprintf(text + used, bytes - used, "%s%s", used ? ", " : "", throttle_reasons[i].name);
}

bool nvml_sm_clock(const struct nvml *nvml, unsigned *mhz)
{
    return nvml && nvml->f.clock(nvml->device, NVML_CLOCK_SM, mhz) == NVML_SUCCESS;
}

bool nvml_process_count(const struct nvml *nvml, unsigned *count)
{
    *count = 0;
    if (!nvml)
        return false;

    /* With no room given, NVML answers how many there are. */
    const int code = nvml->f.processes(nvml->device, count, NULL);

    return code == NVML_SUCCESS || code == NVML_ERROR_INSUFFICIENT_SIZE;
}
