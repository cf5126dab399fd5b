/* SPDX-License-Identifier: MIT
 * The architectures whose code is read: see instruction.h. */
#include "instruction.h"

bool architecture_known(uint32_t architecture)
{
    enum { ENCODING_FIRST = 70, ENCODING_LAST = 121 };

    return architecture >= ENCODING_FIRST && architecture <= ENCODING_LAST;
}

bool architecture_seen(uint32_t architecture)
{
    /* tests/kernels/decoder.py compiles for each: for 70 and 72 by CUDA 11.8, else by 13.0 */
    static const uint8_t seen[] = {70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};

    for (size_t i = 0; i < sizeof(seen) / sizeof(seen[0]); i++)
        if (seen[i] == architecture)
            return true;
    return false;
}
