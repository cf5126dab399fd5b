/* SPDX-License-Identifier: MIT
 *
 * The kernels of launch paths: launched<bytes> has parameters of so many bytes in all, and no other
 * work than to show that they came. Where the first word is odd it writes all of them, else the
 * last: launches that are timed write one word, whatever their bytes. One warp. */
#include <stdint.h>

#include "device.cuh"
#include "launches.h"
#include "pattern.h"

struct bank_words {
    uint32_t words[CBANK_TABLE_LENGTH];
};

static constexpr struct bank_words words_of_image(void)
{
    struct bank_words bank = {};

    for (uint32_t i = 0; i < CBANK_TABLE_LENGTH; i++)
        bank.words[i] = CBANK_IMAGE_WORD(i);
    return bank;
}

/* A load of the module brings all of it. */
__constant__ struct bank_words cbank_values = words_of_image();

extern "C" {
__device__ uint32_t launch_received[CBANK_TABLE_LENGTH];
}

template <uint32_t bytes> struct parameter_words {
    uint32_t words[bytes / sizeof(uint32_t)];
};

template <uint32_t bytes>
__global__ void __launch_bounds__(CBANK_WARP_THREADS, 1)
    launched(const CBANK_PARAMETER parameter_words<bytes> parameters)
{
    constexpr uint32_t count = bytes / sizeof(uint32_t);

    if (parameters.words[0] % 2 == 0) {
        if (threadIdx.x == 0)
            launch_received[count - 1] = parameters.words[count - 1];
        return;
    }
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < count; i += CBANK_WARP_THREADS)
        launch_received[i] = parameters.words[i];
}

/* Writes what the constant bank holds. */
extern "C" __global__ void __launch_bounds__(CBANK_WARP_THREADS, 1) launch_held(uint32_t *output)
{
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < CBANK_TABLE_LENGTH; i += CBANK_WARP_THREADS)
        output[i] = cbank_values.words[i];
}

/* -- instances --------------------------------------------------------------------------------- */

#if CUDART_VERSION >= 12010
static constexpr bool toolkit_has_more = true;
#else
static constexpr bool toolkit_has_more = false;
#endif

template <uint32_t bytes, bool can = bytes <= CBANK_EVERY_PARAMETER_BYTES ||
                                     (toolkit_has_more && architecture >= 70)>
struct instance {
    static constexpr const void *get()
    {
        return (const void *)launched<bytes>;
    }
};

template <uint32_t bytes> struct instance<bytes, false> {
    static constexpr const void *get()
    {
        return nullptr;
    }
};

template <uint32_t> struct instances {
    static const void *const kernels[];
};

template <uint32_t variant>
const void *const instances<variant>::kernels[] = {
#define SIZE(bytes) instance<bytes>::get(),
    CBANK_LAUNCH_SIZES(SIZE)};
template struct instances<0>;
