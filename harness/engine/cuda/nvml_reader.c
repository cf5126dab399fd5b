/* SPDX-License-Identifier: MIT
 * The declarations of NVML that this program needs, written from its documentation: not every
 * toolkit installation has its header. The ABI of these functions has been stable since NVML 7. */
#include "nvml_reader.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "library.h"

typedef struct nvml_device *nvml_device; /* opaque handle */

typedef struct nvml_event_set *nvml_event_set;

struct nvml_event {
    nvml_device device;
    unsigned long long type, data; /* data of an Xid: its number */
    unsigned gpu_instance, compute_instance;
};

enum {
    NVML_SUCCESS = 0,
    NVML_ERROR_INSUFFICIENT_SIZE = 7,
    NVML_ERROR_FUNCTION_NOT_FOUND = 13,
    NVML_CLOCK_SM = 1,
    NVML_CLOCK_MEM = 2,
    NVML_CORRECTED = 0, /* errors in memory */
    NVML_UNCORRECTED = 1,
    NVML_VOLATILE = 0,   /* since the driver was loaded */
    NVML_SINGLE_BIT = 0, /* causes of a page's retirement */
    NVML_DOUBLE_BIT = 1,
    NVML_TEMPERATURE_GPU = 0,
    NVML_EVENT_XID = 8,
};

/* Every function that is used: F(function, member, parameters). */
#define NVML_FUNCTIONS(F)                                                                \
    F(nvmlInit_v2, init, (void))                                                         \
    F(nvmlDeviceGetHandleByPciBusId_v2, handle_by_bus_id, (const char *, nvml_device *)) \
    F(nvmlSystemGetDriverVersion, driver_version, (char *, unsigned))                    \
    F(nvmlDeviceGetVbiosVersion, vbios_version, (nvml_device, char *, unsigned))         \
    F(nvmlDeviceGetEccMode, ecc_mode, (nvml_device, int *, int *))                       \
    F(nvmlDeviceGetMigMode, mig_mode, (nvml_device, unsigned *, unsigned *))             \
    F(nvmlDeviceGetMaxClockInfo, max_clock, (nvml_device, int, unsigned *))              \
    F(nvmlDeviceGetClockInfo, clock, (nvml_device, int, unsigned *))                     \
    F(nvmlDeviceGetCurrentClocksThrottleReasons, throttle_reasons,                       \
      (nvml_device, unsigned long long *))                                               \
    F(nvmlDeviceGetComputeRunningProcesses, processes, (nvml_device, unsigned *, void *))

/* Functions for the board, temperature and errors, which a library may lack. */
#define NVML_OPTIONAL(F)                                                                      \
    F(nvmlDeviceGetBoardPartNumber, part_number, (nvml_device, char *, unsigned))             \
    F(nvmlDeviceGetTemperature, temperature, (nvml_device, int, unsigned *))                  \
    F(nvmlDeviceGetTotalEnergyConsumption, energy, (nvml_device, unsigned long long *))       \
    F(nvmlDeviceGetTotalEccErrors, ecc_errors, (nvml_device, int, int, unsigned long long *)) \
    F(nvmlDeviceGetRetiredPages, retired_pages, (nvml_device, int, unsigned *, void *))       \
    F(nvmlDeviceGetRetiredPagesPendingStatus, retirement_pending, (nvml_device, int *))       \
    F(nvmlDeviceGetRemappedRows, remapped_rows,                                               \
      (nvml_device, unsigned *, unsigned *, unsigned *, unsigned *))                          \
    F(nvmlEventSetCreate, event_set_create, (nvml_event_set *))                               \
    F(nvmlDeviceRegisterEvents, register_events,                                              \
      (nvml_device, unsigned long long, nvml_event_set))                                      \
    F(nvmlEventSetWait_v2, event_set_wait, (nvml_event_set, struct nvml_event *, unsigned))   \
    F(nvmlEventSetFree, event_set_free, (nvml_event_set))

struct nvml_functions {
#define MEMBER(function, member, parameters) int(*member) parameters;
    NVML_FUNCTIONS(MEMBER)
    NVML_OPTIONAL(MEMBER)
#undef MEMBER
    const char *(*error_string)(int);
};

/* clang-format off */
#define SYMBOL(function, member, parameters) {#function, offsetof(struct nvml_functions, member)},
static const struct library_symbol symbols[] = {NVML_FUNCTIONS(SYMBOL)};
static const struct library_symbol optional_symbols[] = {
    NVML_OPTIONAL(SYMBOL)
    {"nvmlErrorString", offsetof(struct nvml_functions, error_string)},
};
#undef SYMBOL
/* clang-format on */

struct nvml {
    void *library;
    struct nvml_functions f;
    nvml_device device;
    nvml_event_set events; /* of Xids; NULL until recording starts */
    int events_code;       /* not NVML_SUCCESS: why Xids are not recorded */
    uint64_t xids;         /* number reported since */
};

/* Calls a function that the library may lack. */
#define CALL(nvml, function, ...) \
    ((nvml)->f.function ? (nvml)->f.function(__VA_ARGS__) : NVML_ERROR_FUNCTION_NOT_FOUND)

struct nvml *nvml_open(const char *pci_bus_id)
{
    struct nvml *nvml = calloc(1, sizeof(*nvml));
    const char *missing;

    if (!nvml)
        return NULL;
    nvml->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!nvml->library ||
        !library_bind(nvml->library, symbols, sizeof(symbols) / sizeof(symbols[0]), &nvml->f,
                      &missing) ||
        nvml->f.init() != NVML_SUCCESS) {
        free(nvml);
        return NULL;
    }
    for (size_t i = 0; i < sizeof(optional_symbols) / sizeof(optional_symbols[0]); i++)
        library_bind(nvml->library, &optional_symbols[i], 1, &nvml->f, &missing);
    if (nvml->f.handle_by_bus_id(pci_bus_id, &nvml->device) == NVML_SUCCESS)
        return nvml;
    nvml_close(nvml);
    return NULL;
}

void nvml_close(struct nvml *nvml)
{
    if (!nvml)
        return;
    if (nvml->events)
        CALL(nvml, event_set_free, nvml->events);
    free(nvml);
}

void nvml_describe(const struct nvml *nvml, struct device_info *info)
{
    const struct nvml_functions *f = &nvml->f;
    int ecc = 0, ecc_pending;
    unsigned mig = 0, mig_pending, mhz;

    f->driver_version(info->driver, sizeof(info->driver));
    f->vbios_version(nvml->device, info->vbios, sizeof(info->vbios));
    if (f->ecc_mode(nvml->device, &ecc, &ecc_pending) == NVML_SUCCESS)
        snprintf(info->ecc, sizeof(info->ecc), "%s", ecc ? "on" : "off");
    if (f->mig_mode(nvml->device, &mig, &mig_pending) == NVML_SUCCESS)
        snprintf(info->mig, sizeof(info->mig), "%s", mig ? "on" : "off");
    if (f->max_clock(nvml->device, NVML_CLOCK_SM, &mhz) == NVML_SUCCESS)
        info->sm_clock_max_mhz = mhz;
    if (f->max_clock(nvml->device, NVML_CLOCK_MEM, &mhz) == NVML_SUCCESS)
        info->memory_clock_max_mhz = mhz;
}

/* NVML's words for an error. */
static const char *error_words(const struct nvml *nvml, int code)
{
    return code == NVML_ERROR_FUNCTION_NOT_FOUND ? "this NVML has no such function"
           : nvml->f.error_string                ? nvml->f.error_string(code)
                                                 : "NVML does not say";
}

void nvml_part_number(const struct nvml *nvml, struct board *board)
{
    char text[DEVICE_TEXT_BYTES] = "";
    const int code =
        nvml ? CALL(nvml, part_number, nvml->device, text, sizeof(text)) : NVML_SUCCESS;

    if (code == NVML_SUCCESS)
        snprintf(board->part_number, sizeof(board->part_number), "%s", text);
    snprintf(board->part_number_reason, sizeof(board->part_number_reason), "%s",
             !nvml                  ? "NVML is not there, or does not know the GPU"
             : code != NVML_SUCCESS ? error_words(nvml, code)
             : text[0]              ? ""
                                    : "the board has none");
}

bool nvml_throttle_reasons(const struct nvml *nvml, uint64_t *reasons)
{
    unsigned long long bits;

    if (!nvml || nvml->f.throttle_reasons(nvml->device, &bits) != NVML_SUCCESS)
        return false;
    *reasons = bits;
    return true;
}

bool nvml_temperature(const struct nvml *nvml, double *celsius)
{
    unsigned value;

    if (!nvml ||
        CALL(nvml, temperature, nvml->device, NVML_TEMPERATURE_GPU, &value) != NVML_SUCCESS)
        return false;
    *celsius = value;
    return true;
}

const char *nvml_energy(const struct nvml *nvml, uint64_t *mj)
{
    unsigned long long value = 0;
    int code;

    if (!nvml)
        return "NVML is not there, or does not know the GPU";
    code = CALL(nvml, energy, nvml->device, &value);
    *mj = value;
    return code == NVML_SUCCESS ? NULL : error_words(nvml, code);
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

    /* With no room given, NVML returns their number. */
    const int code = nvml->f.processes(nvml->device, count, NULL);

    return code == NVML_SUCCESS || code == NVML_ERROR_INSUFFICIENT_SIZE;
}

/* -- errors of the device ---------------------------------------------------------------------- */

/* Fills out->values, and the reason for each value that cannot be read. */
static void read_health(const struct nvml *nvml, struct health_reading *out, const char **reasons)
{
    const nvml_device device = nvml->device;
    unsigned long long corrected = 0, uncorrected = 0;
    /* pages: with no room for addresses, NVML returns their number */
    unsigned single = 0, multiple = 0;
    unsigned rows = 0, rows_uncorrectable = 0, rows_pending = 0, rows_failed = 0;
    int pending = 0;
    const int codes[] = {
        CALL(nvml, ecc_errors, device, NVML_CORRECTED, NVML_VOLATILE, &corrected),
        CALL(nvml, ecc_errors, device, NVML_UNCORRECTED, NVML_VOLATILE, &uncorrected),
        CALL(nvml, retired_pages, device, NVML_SINGLE_BIT, &single, NULL),
        CALL(nvml, retired_pages, device, NVML_DOUBLE_BIT, &multiple, NULL),
        CALL(nvml, retirement_pending, device, &pending),
        CALL(nvml, remapped_rows, device, &rows, &rows_uncorrectable, &rows_pending, &rows_failed),
        nvml->events_code,
    };
    const struct {
        enum health_quantity quantity;
        int code;
        uint64_t value;
    } readings[] = {
        {HEALTH_ECC_CORRECTED, codes[0], corrected},
        {HEALTH_ECC_UNCORRECTED, codes[1], uncorrected},
        {HEALTH_RETIRED_PAGES_SINGLE_BIT,
         codes[2] == NVML_ERROR_INSUFFICIENT_SIZE ? NVML_SUCCESS : codes[2], single},
        {HEALTH_RETIRED_PAGES_DOUBLE_BIT,
         codes[3] == NVML_ERROR_INSUFFICIENT_SIZE ? NVML_SUCCESS : codes[3], multiple},
        {HEALTH_RETIREMENT_PENDING, codes[4], pending != 0},
        {HEALTH_REMAPPED_ROWS_CORRECTABLE, codes[5], rows},
        {HEALTH_REMAPPED_ROWS_UNCORRECTABLE, codes[5], rows_uncorrectable},
        {HEALTH_REMAP_PENDING, codes[5], rows_pending != 0},
        {HEALTH_REMAP_FAILED, codes[5], rows_failed != 0},
        {HEALTH_XIDS, codes[6], nvml->xids},
    };

    for (size_t i = 0; i < sizeof(readings) / sizeof(readings[0]); i++) {
        const int code = readings[i].code;

        out->values[readings[i].quantity] =
            code == NVML_SUCCESS ? optional_of(readings[i].value) : (struct optional){0};
        if (code != NVML_SUCCESS)
            reasons[readings[i].quantity] = error_words(nvml, code);
    }
}

void nvml_health_begin(struct nvml *nvml, struct health *health)
{
    health->known = nvml != NULL;
    memset(health->reasons, 0, sizeof(health->reasons));
    if (!nvml)
        return;
    /* From this request on, the driver keeps events until they are fetched, so nothing has to wait
     * for them. */
    nvml->events_code = CALL(nvml, event_set_create, &nvml->events);
    if (nvml->events_code == NVML_SUCCESS)
        nvml->events_code = CALL(nvml, register_events, nvml->device, NVML_EVENT_XID, nvml->events);
    read_health(nvml, &health->before, health->reasons);
    health->after = health->before;
}

uint32_t nvml_health_end(struct nvml *nvml, struct health *health)
{
    enum { ENOUGH = 1024 }; /* a device that reports without end does not delay the run */
    struct nvml_event event = {0};

    if (!nvml)
        return 0;
    for (int i = 0; i < ENOUGH && nvml->events_code == NVML_SUCCESS &&
                    CALL(nvml, event_set_wait, nvml->events, &event, 0) == NVML_SUCCESS;
         i++) {
        nvml->xids++;
        if (health->xid_count < HEALTH_XIDS_MAX)
            health->xids[health->xid_count++].number = (uint32_t)event.data;
    }
    read_health(nvml, &health->after, health->reasons);
    return health_settle(health);
}
