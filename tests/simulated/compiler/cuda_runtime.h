/* SPDX-License-Identifier: MIT
 * As nvcc, the stand-in reads this header before a kernel file. */
#pragma once
#include "cuda_host.h"
