/* SPDX-License-Identifier: MIT
 * A module with a table of its own (rival.cuh). */
#include "rival.cuh"

RIVAL_KERNEL(second_rival)
