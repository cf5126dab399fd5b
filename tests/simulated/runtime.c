/* SPDX-License-Identifier: MIT
 * The CUDA runtime: devices, errors, memory, textures. */
#include <stdio.h>
#include <string.h>

#include "stream.h"

/* -- devices ----------------------------------------------------------------------------------- */

static bool is_device(int ordinal)
{
    return ordinal >= 0 && ordinal < (int)settings.devices;
}

STUB(cudaError_t, cudaGetDeviceCount, (int *count), 0, *count = (int)settings.devices)
STUB(cudaError_t, cudaSetDevice, (int device), !is_device(device) ? cudaErrorInvalidDevice : 0,
     device_choose((uint32_t)device))

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *out, int device)
{
    ENTER(cudaGetDeviceProperties);
    if (!is_device(device))
        return runtime_error(cudaErrorInvalidDevice);
    *out = (struct cudaDeviceProp){
        .totalGlobalMem = (size_t)settings.memory,
        .warpSize = CBANK_WARP_THREADS,
        .major = (int)settings.capability / 10,
        .minor = (int)settings.capability % 10,
        .multiProcessorCount = (int)chip.sm_count,
        .maxThreadsPerMultiProcessor = (int)(chip.warps_per_sm * CBANK_WARP_THREADS),
        .maxBlocksPerMultiProcessor = (int)chip.blocks_per_sm,
        .sharedMemPerMultiprocessor = chip.shared_bytes_per_sm,
        .reservedSharedMemPerBlock = chip.shared_bytes_reserved,
        .l2CacheSize = (int)chip.l2_bytes,
        .pciBusID = 16 + device,
    };
    snprintf(out->name, sizeof(out->name), "%s %s", settings.known ? "NVIDIA" : "Simulated",
             card.name);
    memset(out->uuid.bytes, 0x10 + device, sizeof(out->uuid.bytes));
    out->uuid.bytes[0] = (char)(out->uuid.bytes[0] + DEVICES_MAX * (int)settings.host);
    out->uuid.bytes[1] = (char)(out->uuid.bytes[1] + (device == settings.swapped));
    return cudaSuccess;
}

STUB(cudaError_t, cudaDeviceGetAttribute, (int *value, enum cudaDeviceAttr attribute, int device),
     (!is_device(device) || attribute != cudaDevAttrMaxSharedMemoryPerBlockOptin)
         ? cudaErrorInvalidValue
         : 0,
     *value = (int)(chip.shared_bytes_per_sm - chip.shared_bytes_reserved))
STUB(cudaError_t, cudaDriverGetVersion, (int *version), 0,
     *version = settings.driver_api > 0 ? (int)settings.driver_api : CUDART_VERSION)

/* -- errors ------------------------------------------------------------------------------------ */

cudaError_t cudaGetLastError(void)
{
    ENTER_TEXT(cudaGetLastError);
    return runtime_last_error();
}

const char *cudaGetErrorString(cudaError_t code)
{
    ENTER_TEXT(cudaGetErrorString);
    return error_text(API_RUNTIME, (int)code);
}

/* -- memory ------------------------------------------------------------------------------------ */

static cudaError_t allocate(void **out, enum block_kind kind, size_t bytes, const char *owner)
{
    struct block *const block = block_open(device_current(), kind, bytes, owner);

    if (!block)
        return runtime_error(cudaErrorMemoryAllocation);
    *out = block->address;
    return cudaSuccess;
}

/* Memory is freed when all that may use it has ended. `entered`: what is answered, whatever becomes
 * of it. */
static cudaError_t release(void *address, enum block_kind kind, int entered)
{
    struct block *const block = address ? block_find(address, 0, kind) : NULL;
    const int code = address && !entered ? device_run(device_current()) : entered;

    if (!address || (block && block->address != address) || (!block && !code))
        return runtime_error(address && !code ? cudaErrorInvalidValue : code);
    if (block)
        block_close(block);
    return runtime_error(code);
}

STUB(cudaError_t, cudaMalloc, (void **out, size_t bytes),
     allocate(out, BLOCK_DEVICE, bytes, "cudaMalloc"), )
STUB(cudaError_t, cudaMallocHost, (void **out, size_t bytes),
     allocate(out, BLOCK_HOST, bytes, "cudaMallocHost"), )
STUB(cudaError_t, cudaHostAlloc, (void **out, size_t bytes, unsigned flags),
     allocate(out, BLOCK_HOST, bytes, "cudaHostAlloc"), )

cudaError_t cudaFree(void *address)
{
    ENTER_RELEASE(cudaFree);
    return release(address, BLOCK_DEVICE, entered);
}

cudaError_t cudaFreeHost(void *address)
{
    ENTER_RELEASE(cudaFreeHost);
    return release(address, BLOCK_HOST, entered);
}

STUB(cudaError_t, cudaMemGetInfo, (size_t *left, size_t *total), 0,
     *total = (size_t)settings.memory;
     *left = (size_t)settings.free - device_current()->bytes)

/* By the default stream, which does not wait for others that were told not to wait for it. */
STUB(cudaError_t, cudaMemcpy,
     (void *to, const void *from, size_t bytes, enum cudaMemcpyKind direction),
     copy_now(to, from, bytes, direction), )
STUB(cudaError_t, cudaMemset, (void *to, int byte, size_t bytes),
     memory_set(to, byte, bytes) ? cudaSuccess : cudaErrorInvalidValue, )

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind direction,
                            cudaStream_t stream)
{
    ENTER(cudaMemcpyAsync);
    if (direction == cudaMemcpyHostToDevice)
        launch_pass(stream, settings.copy_us);
    return runtime_error(stream_add(stream, (struct op){.kind = OP_COPY,
                                                        .direction = direction,
                                                        .to = to,
                                                        .from = from,
                                                        .bytes = bytes}));
}

cudaError_t cudaMemsetAsync(void *to, int byte, size_t bytes, cudaStream_t stream)
{
    ENTER(cudaMemsetAsync);
    return runtime_error(
        stream_add(stream, (struct op){.kind = OP_SET, .to = to, .byte = byte, .bytes = bytes}));
}

/* -- textures ---------------------------------------------------------------------------------- */

cudaError_t cudaCreateTextureObject(cudaTextureObject_t *out,
                                    const struct cudaResourceDesc *resource,
                                    const struct cudaTextureDesc *texture,
                                    const struct cudaResourceViewDesc *view)
{
    struct cudaResourceDesc *copy;

    ENTER(cudaCreateTextureObject);
    if (resource->resType != cudaResourceTypeLinear ||
        !block_find(resource->res.linear.devPtr, resource->res.linear.sizeInBytes, BLOCK_DEVICE))
        return runtime_error(cudaErrorInvalidValue);
    copy = object_open(OBJECT_TEXTURE, sizeof(*copy));
    if (!copy)
        return runtime_error(cudaErrorMemoryAllocation);
    *copy = *resource;
    *out = (uintptr_t)copy;
    return cudaSuccess;
}

cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture)
{
    ENTER_RELEASE(cudaDestroyTextureObject);
    if (texture)
        object_close((void *)(uintptr_t)texture, true);
    return entered;
}
