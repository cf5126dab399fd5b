/* SPDX-License-Identifier: MIT
 * Which devices there are, and what cudart and NVML say of them. */
#include <stdio.h>

#include "cuda_device.h"
#include "log.h"
#include "nvml_reader.h"

uint32_t cuda_device_count(const char **reason)
{
    int count = 0;
    const cudaError_t code = cudaGetDeviceCount(&count);

    if (code == cudaSuccess && count > 0)
        return (uint32_t)count;
    cudaGetLastError();
    *reason = code == cudaErrorInsufficientDriver
                  ? "no NVIDIA driver, or one older than the CUDA runtime in this program; install or update the driver"
              : code == cudaSuccess || code == cudaErrorNoDevice
                  ? "no NVIDIA GPU is visible; check nvidia-smi and CUDA_VISIBLE_DEVICES"
                  : cudaGetErrorString(code);
    return 0;
}

static void format_uuid(const cudaUUID_t *uuid, char text[DEVICE_TEXT_BYTES])
{
    static const bool dash_before[16] = {[4] = true, [6] = true, [8] = true, [10] = true};
    size_t used = (size_t)snprintf(text, DEVICE_TEXT_BYTES, "GPU-");

    for (size_t i = 0; i < sizeof(uuid->bytes); i++)
        used += (size_t)snprintf(text + used, DEVICE_TEXT_BYTES - used, "%s%02x", dash_before[i] ? "-" : "",
                                 (unsigned char)uuid->bytes[i]);
}

enum status cuda_device_describe(uint32_t ordinal, struct device_info *info)
{
    struct cudaDeviceProp properties;
    int api = 0;

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
    info->shared_bytes_reserved = (uint32_t)properties.reservedSharedMemPerBlock;
    info->l2_bytes = (uint64_t)properties.l2CacheSize;
    info->memory_bytes = properties.totalGlobalMem;
    snprintf(info->name, sizeof(info->name), "%.90s", properties.name);
    format_uuid(&properties.uuid, info->uuid);
    snprintf(info->pci_bus_id, sizeof(info->pci_bus_id), "%08x:%02x:%02x.0", (unsigned)properties.pciDomainID,
             (unsigned)properties.pciBusID, (unsigned)properties.pciDeviceID);
    if (cudaDriverGetVersion(&api) == cudaSuccess)
        info->cuda_driver_api = (uint32_t)api;

    struct nvml *nvml = nvml_open(info->pci_bus_id);

    if (nvml)
        nvml_describe(nvml, info);
    nvml_close(nvml);
    return STATUS_OK;
}
