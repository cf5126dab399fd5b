/* SPDX-License-Identifier: MIT
 *
 * Code of the GPU that kernels.cu and probes.cu share. */
#pragma once

#include <stdint.h>

/* Before Volta, compilers read parameters in place without the attribute. */
#if __CUDA_ARCH__ >= 700
#define CBANK_PARAMETER __grid_constant__
#else
#define CBANK_PARAMETER
#endif

/* 10 x compute capability, as the rows of paths have it; 0 for the host. */
#ifdef __CUDA_ARCH__
static constexpr uint32_t architecture = __CUDA_ARCH__ / 10;
#else
static constexpr uint32_t architecture = 0;
#endif
