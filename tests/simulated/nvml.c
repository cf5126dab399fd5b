/* SPDX-License-Identifier: MIT
 * NVML. Its header is not part of every toolkit: what is needed of it is written here. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulated.h"

enum {
    NVML_OK = 0,
    NVML_INVALID = 2,
    NVML_NOT_FOUND = 6,
    NVML_SMALL = 7,
    NVML_TIMEOUT = 10,
    CLOCK_SM = 1,
    SOFTWARE_THERMAL = 0x20,
    MEMORY_MHZ = 2619,
    UNCORRECTED = 1,
    PAGES_CAUSE_DOUBLE_BIT = 1,
    EVENT_XID = 8,
    TEMPERATURE_GPU = 0,
    COLD_CELSIUS = 30,
    HOTTEST_CELSIUS = 60,
};

typedef struct device *nvml_device;

/* For one device, whose Xid comes out once. */
typedef struct event_set {
    nvml_device device;
    bool taken;
} *nvml_event_set;

struct event {
    nvml_device device;
    unsigned long long type, data;
    unsigned gpu_instance, compute_instance;
};

/* No header here declares them. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

STUB(int, nvmlInit_v2, (void), 0, )

/* "00000000:10:00.0": see cudaGetDeviceProperties. */
int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, nvml_device *out)
{
    unsigned domain, bus;

    ENTER(nvmlDeviceGetHandleByPciBusId_v2);
    if (sscanf(bus_id, "%x:%x:", &domain, &bus) != 2 || bus < 16 ||
        bus >= 16 + (unsigned)settings.devices)
        return NVML_NOT_FOUND;
    *out = &devices[bus - 16];
    return NVML_OK;
}

STUB(int, nvmlSystemGetDriverVersion, (char *text, unsigned bytes), 0,
     snprintf(text, bytes, "580.00.simulated"))
STUB(int, nvmlDeviceGetVbiosVersion, (nvml_device device, char *text, unsigned bytes), 0,
     snprintf(text, bytes, "00.00.00.00.00"))
STUB(int, nvmlDeviceGetBoardPartNumber, (nvml_device device, char *text, unsigned bytes),
     strcmp(settings.part, "none") == 0 ? error_code(API_NVML, "not_supported") : 0,
     snprintf(text, bytes, "%s", settings.part))
STUB(int, nvmlDeviceGetEccMode, (nvml_device device, int *now, int *pending), 0,
     *now = *pending = settings.ecc != 0)
STUB(int, nvmlDeviceGetMigMode, (nvml_device device, unsigned *now, unsigned *pending), 0,
     *now = *pending = settings.mig != 0)
STUB(int, nvmlDeviceGetMaxClockInfo, (nvml_device device, int clock, unsigned *mhz), 0,
     *mhz = clock == CLOCK_SM ? (unsigned)settings.clock : MEMORY_MHZ)
STUB(int, nvmlDeviceGetClockInfo, (nvml_device device, int clock, unsigned *mhz), 0,
     *mhz = clock == CLOCK_SM ? (unsigned)device_clock_mhz(device) : MEMORY_MHZ)
STUB(int, nvmlDeviceGetCurrentClocksThrottleReasons,
     (nvml_device device, unsigned long long *reasons), 0,
     *reasons = device_throttled(device) ? SOFTWARE_THERMAL : 0)

int nvmlDeviceGetTotalEnergyConsumption(nvml_device device, unsigned long long *mj)
{
    ENTER(nvmlDeviceGetTotalEnergyConsumption);
    device_catch_up(device);
    *mj = (unsigned long long)device_energy_mj(device);
    return NVML_OK;
}

/* The GPU's temperature: a degree for each ms of simulated time, within limits. */
STUB(int, nvmlDeviceGetTemperature, (nvml_device device, int sensor, unsigned *celsius),
     sensor != TEMPERATURE_GPU ? NVML_INVALID : 0,
     *celsius = COLD_CELSIUS + (unsigned)fmin(device->now_ns / 1e6, HOTTEST_CELSIUS - COLD_CELSIUS))

/* The neighbour. With no room given NVML says how many there are. */
int nvmlDeviceGetComputeRunningProcesses(nvml_device device, unsigned *count, void *processes)
{
    const unsigned room = *count;

    ENTER(nvmlDeviceGetComputeRunningProcesses);
    *count = settings.neighbour_ms > 0;
    return *count > room ? NVML_SMALL : NVML_OK;
}

/* -- health ------------------------------------------------------------------------------------ */

STUB(int, nvmlDeviceGetTotalEccErrors,
     (nvml_device device, int type, int since, unsigned long long *count),
     !settings.ecc ? error_code(API_NVML, "not_supported") : 0,
     *count = (unsigned long long)device_health(device, type == UNCORRECTED
                                                            ? &settings.ecc_uncorrected
                                                            : &settings.ecc_corrected))

int nvmlDeviceGetRetiredPages(nvml_device device, int cause, unsigned *count,
                              unsigned long long *addresses)
{
    const unsigned room = *count;

    ENTER(nvmlDeviceGetRetiredPages);
    *count =
        cause == PAGES_CAUSE_DOUBLE_BIT ? (unsigned)device_health(device, &settings.retired) : 0;
    return *count > room ? NVML_SMALL : NVML_OK;
}

STUB(int, nvmlDeviceGetRetiredPagesPendingStatus, (nvml_device device, int *pending), 0,
     *pending = device_health(device, &settings.retired_pending) != 0)
STUB(int, nvmlDeviceGetRemappedRows,
     (nvml_device device, unsigned *corrected, unsigned *uncorrected, unsigned *pending,
      unsigned *failure),
     0, *corrected = 0;
     *uncorrected = (unsigned)device_health(device, &settings.remapped);
     *pending = device_health(device, &settings.remap_pending) != 0;
     *failure = device_health(device, &settings.remap_failure) != 0)

/* -- what the driver reports ------------------------------------------------------------------- */

const char *nvmlErrorString(int code)
{
    ENTER_TEXT(nvmlErrorString);
    return error_text(API_NVML, code);
}

int nvmlEventSetCreate(nvml_event_set *out)
{
    ENTER(nvmlEventSetCreate);
    *out = calloc(1, sizeof(**out));
    return *out ? NVML_OK : error_code(API_NVML, "memory");
}

STUB(int, nvmlDeviceRegisterEvents,
     (nvml_device device, unsigned long long types, nvml_event_set set),
     types != EVENT_XID ? NVML_INVALID : 0, set->device = device)

int nvmlEventSetWait_v2(nvml_event_set set, struct event *out, unsigned timeout_ms)
{
    ENTER(nvmlEventSetWait_v2);
    if (!set->device || set->taken || !settings.xid || !set->device->used)
        return NVML_TIMEOUT;
    set->taken = true;
    *out = (struct event){.device = set->device,
                          .type = EVENT_XID,
                          .data = (unsigned long long)settings.xid};
    return NVML_OK;
}

int nvmlEventSetFree(nvml_event_set set)
{
    ENTER_RELEASE(nvmlEventSetFree);
    free(set);
    return entered;
}
