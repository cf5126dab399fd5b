/* SPDX-License-Identifier: MIT
 * Kernels of launch paths (launches.cu), as the host knows them. */
#pragma once

#include <stdint.h>

/* Bytes of parameters that there is a kernel for. */
#define CBANK_LAUNCH_SIZES(SIZE) \
    SIZE(4) SIZE(64) SIZE(256) SIZE(1024) SIZE(4096) SIZE(8192) SIZE(16384) SIZE(32764)

/* Parameters that every kernel may have. CUDA 12.1 and sm_70 brought more. */
#define CBANK_EVERY_PARAMETER_BYTES 4096u

/* Word i of the constant bank as it is in the image. */
#define CBANK_IMAGE_WORD(i) (UINT32_C(2654435761) * ((i) + 1u))
