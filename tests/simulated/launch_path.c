/* SPDX-License-Identifier: MIT
 * Kernels of launch paths (kernels/launches.cu). */
#include <string.h>

#include "launches.h"
#include "stream.h"

/* A constant bank as the image has it: that of other modules holds zeros. */
struct block *launch_bank(struct CUmod_st *module)
{
    const bool initialized =
        memmem(module->image, module->image_bytes, "launch_held", sizeof("launch_held"));
    uint32_t word;

    if (module->bank)
        return module->bank;
    module->bank = block_open(module->device, BLOCK_DEVICE, CBANK_TABLE_BYTES, NULL);
    for (uint32_t i = 0; module->bank && initialized && i < CBANK_TABLE_LENGTH; i++) {
        word = CBANK_IMAGE_WORD(i);
        memcpy(module->bank->data + i * sizeof(word), &word, sizeof(word));
    }
    return module->bank;
}

struct block *launch_received(struct CUmod_st *module)
{
    if (!module->received)
        module->received = block_open(module->device, BLOCK_DEVICE, CBANK_TABLE_BYTES, NULL);
    return module->received;
}

/* All parameters where the first word is odd, else the last word. */
int run_launched(struct device *device, struct launch *launch, double *work_ns)
{
    const uint32_t bytes = launch->function->parameter_bytes;
    struct block *const received = launch_received(launch->function->module);
    const uint32_t first = launch->values[0] % 2 ? 0 : bytes - (uint32_t)sizeof(uint32_t);

    (void)device;
    *work_ns = chip.launch_ns + settings.graph_ns + 1e-2 * bytes;
    return received && memory_write(received->address + first, (char *)launch->values + first,
                                    bytes - first)
               ? 0
               : cudaErrorIllegalAddress;
}

int run_held(struct device *device, struct launch *launch, double *work_ns)
{
    struct block *const bank = launch_bank(launch->function->module);

    (void)device;
    *work_ns = chip.launch_ns;
    return bank && memory_write(launch->args.output, memory_read(bank->address, CBANK_TABLE_BYTES),
                                CBANK_TABLE_BYTES)
               ? 0
               : cudaErrorIllegalAddress;
}
