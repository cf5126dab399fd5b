/* SPDX-License-Identifier: MIT
 * The CUDA engine's view of this machine: the chips that its CUPTI knows, the findings of the
 * doctor, and the devices as cudart and NVML describe them. */
#include <stdio.h>
#include <string.h>

#include "cupti_reader.h"
#include "doctor.h"
#include "engine_cuda.h"
#include "environment_error.h"
#include "log.h"

bool cuda_chips(const struct chip_visitor *visitor, char reason[ENGINE_REASON_BYTES])
{
    struct cupti *cupti = NULL;
    bool listed = false;

    if (cupti_open(&cupti, reason) == COUNTER_OK) {
        snprintf(reason, ENGINE_REASON_BYTES, "CUPTI does not name its chips");
        listed = cupti_each_chip(cupti, visitor);
    }
    cupti_close(cupti);
    return listed;
}

/* Whether the program has machine code for a GPU. */
static void diagnose_kernels(struct diagnosis *diagnosis, const struct device_info *info)
{
    char remedy[64];
    struct image image;

    snprintf(remedy, sizeof(remedy), "make ARCHS=%u%u", (unsigned)info->cc_major,
             (unsigned)info->cc_minor);
    if (image_for_chip("tools", info->cc_major, info->cc_minor, &image))
        diagnosis_add(diagnosis, FINDING_OK, "kernels", NULL, "machine code for this GPU");
    else if (image_ptx("tools", info->cc_major, info->cc_minor, &image))
        diagnosis_add(diagnosis, FINDING_WARNING, "kernels", remedy,
                      "PTX alone: the driver compiles at start");
    else
        diagnosis_add(diagnosis, FINDING_PROBLEM, "kernels", remedy, "none for this GPU");
}

/* Errors of a GPU's memory. */
static void diagnose_memory(struct diagnosis *diagnosis, struct nvml *nvml)
{
    struct health health = {0};
    char text[512];

    nvml_health_begin(nvml, &health);
    if (!health.known)
        return;
    diagnosis_add(diagnosis, FINDING_OK, "memory errors", NULL, "%s",
                  health_reading_text(&health.before, text, sizeof(text)));
    for (size_t i = 0; i < HEALTH_QUANTITIES; i++)
        if (health_rows[i].remedy && health.before.values[i].value > 0)
            diagnosis_add(diagnosis, FINDING_WARNING, "memory errors", health_rows[i].remedy, "%s",
                          health_rows[i].words);
}

/* What NVML says of a GPU: clocks, other processes, errors of its memory. */
static void diagnose_state(struct diagnosis *diagnosis, const struct device_info *info)
{
    struct nvml *nvml = nvml_open(info->pci_bus_id);
    unsigned mhz = 0, processes = 0;
    uint64_t reasons = 0;

    if (!nvml)
        diagnosis_add(diagnosis, FINDING_WARNING, "NVML", "install the driver's libnvidia-ml.so.1",
                      "not found: clocks and throttling cannot be recorded");
    if (nvml_sm_clock(nvml, &mhz) && nvml_throttle_reasons(nvml, &reasons)) {
        const bool throttled = reasons & NVML_THROTTLED;

        diagnosis_add(diagnosis, throttled ? FINDING_WARNING : FINDING_OK, "clocks",
                      throttled ? "let the GPU cool, or raise its power limit; cells are marked "
                                  "while it lasts"
                                : NULL,
                      "SM at %u MHz now; %s", mhz,
                      throttled ? "the driver holds it down" : "no throttling");
    }
    if (strcmp(info->mig, "on") == 0)
        diagnosis_add(diagnosis, FINDING_WARNING, "MIG",
                      "for numbers of the whole chip, take a GPU without MIG; compare instances of "
                      "one profile alone",
                      "on: the GPU is an instance; %u SMs, and times and peaks that depend on "
                      "them, are the instance's; counters of what instances share (L2, DRAM) "
                      "cannot be read",
                      (unsigned)info->sm_count);
    if (nvml_process_count(nvml, &processes))
        diagnosis_add(diagnosis, processes ? FINDING_WARNING : FINDING_OK, "other processes",
                      processes ? "end them: they disturb times, and L2 and DRAM counters" : NULL,
                      "%u compute on this GPU now", processes);
    diagnose_memory(diagnosis, nvml);
    nvml_close(nvml);
}

/* Whether this user may read counters. */
static void diagnose_counters(struct diagnosis *diagnosis, uint32_t ordinal,
                              const struct cupti *cupti)
{
    struct counter_set counters = {0};
    const struct cupti_request request = {.device = ordinal,
                                          .counters = &counters,
                                          .ranges_max = 1};
    struct cupti_session *session = NULL;
    char reason[CUPTI_REASON_BYTES];

    if (counter_set_parse("idc_requests", &counters) == STATUS_OK &&
        cupti_session_open(cupti, &request, &session, reason) == COUNTER_OK)
        diagnosis_add(diagnosis, FINDING_OK, "hardware counters", NULL, "can be read");
    else
        diagnosis_add_reason(diagnosis, FINDING_WARNING, "hardware counters", reason);
    cupti_session_close(session);
    counter_set_close(&counters);
}

static void diagnose_device(struct diagnosis *diagnosis, uint32_t ordinal,
                            const struct cupti *cupti)
{
    char reason[CUPTI_REASON_BYTES], board[BOARD_TEXT_BYTES];
    struct device_info info;
    cudaError_t code;

    if (cuda_device_describe(ordinal, NULL, &info) != STATUS_OK)
        return;
    diagnosis_add(diagnosis, FINDING_OK, "GPU", NULL,
                  "%s, compute capability %u.%u, driver %s (CUDA %u.%u)", info.name,
                  (unsigned)info.cc_major, (unsigned)info.cc_minor,
                  info.driver[0] ? info.driver : "unknown", (unsigned)info.cuda_driver_api / 1000,
                  (unsigned)info.cuda_driver_api % 1000 / 10);
    diagnose_kernels(diagnosis, &info);
    diagnose_state(diagnosis, &info);
    /* Whether a context can be opened is tried. */
    code = cudaSetDevice((int)ordinal);
    if (code == cudaSuccess)
        code = cudaFree(NULL);
    if (code != cudaSuccess) {
        environment_error(ENVIRONMENT_CUDA, (int)code, "cudaSetDevice", cudaGetErrorString(code),
                          reason);
        diagnosis_add_reason(diagnosis, FINDING_PROBLEM, "GPU", reason);
        return;
    }
    cuda_identify_device(ordinal, &info);
    diagnosis_add(diagnosis, FINDING_OK, "board", NULL, "%s", board_text(&info.board, board));
    if (cupti)
        diagnose_counters(diagnosis, ordinal, cupti);
}

void cuda_diagnose(struct diagnosis *diagnosis)
{
    const char *reason = NULL;
    const uint32_t count = cuda_device_count(&reason);
    const int runtime = CUDART_VERSION; /* linked in; asking it needs a driver */
    struct cupti *cupti = NULL;
    char text[CUPTI_REASON_BYTES];
    struct image image;
    size_t images = 0;

    while (image_at(images, &image))
        images++;
    diagnosis_add(diagnosis, images ? FINDING_OK : FINDING_PROBLEM, "program",
                  images ? NULL : "build with a CUDA toolkit",
                  "CUDA runtime %d.%d, %zu kernel images", runtime / 1000, runtime % 1000 / 10,
                  images);
    if (cupti_open(&cupti, text) == COUNTER_OK) {
        cupti_describe(cupti, text, sizeof(text));
        diagnosis_add(diagnosis, FINDING_OK, "CUPTI", NULL, "%s", text);
    } else {
        diagnosis_add_reason(diagnosis, FINDING_WARNING, "CUPTI", text);
    }
    if (count == 0)
        diagnosis_add_reason(diagnosis, FINDING_PROBLEM, "GPU", reason);
    for (uint32_t i = 0; i < count; i++)
        diagnose_device(diagnosis, i, cupti);
    cupti_close(cupti);
}

/* -- devices ----------------------------------------------------------------------------------- */

uint32_t cuda_device_count(const char **reason)
{
    static char text[ENGINE_REASON_BYTES];
    int count = 0;
    const cudaError_t code = cudaGetDeviceCount(&count);

    if (code == cudaSuccess && count > 0)
        return (uint32_t)count;
    cudaGetLastError();
    environment_error(ENVIRONMENT_CUDA, code == cudaSuccess ? cudaErrorNoDevice : (int)code,
                      "cudaGetDeviceCount", cudaGetErrorString(code), text);
    *reason = text;
    return 0;
}

enum status cuda_device_describe(uint32_t ordinal, const char *card, struct device_info *info)
{
    static const bool dash_before[16] = {[4] = true, [6] = true, [8] = true, [10] = true};
    struct cudaDeviceProp properties;
    size_t used;
    int api = 0;

    (void)card;
    if (cudaGetDeviceProperties(&properties, (int)ordinal) != cudaSuccess)
        return log_error(STATUS_ENVIRONMENT, "cannot describe device %u: %s", (unsigned)ordinal,
                         cudaGetErrorString(cudaGetLastError()));
    *info = device_unknown;
    info->cc_major = (uint32_t)properties.major;
    info->cc_minor = (uint32_t)properties.minor;
    info->sm_count = (uint32_t)properties.multiProcessorCount;
    info->warps_per_sm = (uint32_t)(properties.maxThreadsPerMultiProcessor / properties.warpSize);
    info->blocks_per_sm = (uint32_t)properties.maxBlocksPerMultiProcessor;
    info->shared_bytes_per_sm = (uint32_t)properties.sharedMemPerMultiprocessor;
    info->shared_bytes_reserved = optional_of(properties.reservedSharedMemPerBlock);
    info->l2_bytes = (uint64_t)properties.l2CacheSize;
    info->memory_bytes = properties.totalGlobalMem;
    snprintf(info->name, sizeof(info->name), "%.90s", properties.name);
    used = (size_t)snprintf(info->uuid, sizeof(info->uuid), "GPU-");
    for (size_t i = 0; i < sizeof(properties.uuid.bytes); i++)
        used +=
            (size_t)snprintf(info->uuid + used, sizeof(info->uuid) - used, "%s%02x",
                             dash_before[i] ? "-" : "", (unsigned char)properties.uuid.bytes[i]);
    snprintf(info->pci_bus_id, sizeof(info->pci_bus_id), "%08x:%02x:%02x.0",
             (unsigned)properties.pciDomainID, (unsigned)properties.pciBusID,
             (unsigned)properties.pciDeviceID);
    if (cudaDriverGetVersion(&api) == cudaSuccess)
        info->cuda_driver_api = (uint32_t)api;

    struct nvml *nvml = nvml_open(info->pci_bus_id);

    if (nvml)
        nvml_describe(nvml, info);
    info->board.given = true;
    nvml_part_number(nvml, &info->board);
    snprintf(info->board.groups_reason, sizeof(info->board.groups_reason),
             "not probed: cbank run does it when everything is measured");
    nvml_close(nvml);
    return STATUS_OK;
}
