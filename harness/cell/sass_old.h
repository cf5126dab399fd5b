/* SPDX-License-Identifier: MIT
 * The loads of SASS before Volta, sm_35 to sm_62; inside of the room. Instructions are 64 bits, little-endian; every
 * fourth word, on Kepler every eighth, is no instruction: it says when those behind it issue. */
#ifndef CBANK_SASS_OLD_H
#define CBANK_SASS_OLD_H

#include "kernel_loads.h"

enum { OLD_INSTRUCTION_BYTES = 8 };

/* Whether the encoding of an architecture is one of these. */
bool old_known(uint32_t architecture);

/* A load of old code. */
struct old_load {
    unsigned kind; /* of kernel_loads.h */
    unsigned width; /* logarithm of its bytes; of textures and operands SASS_WORD */
};

/* The load at a byte of code of an architecture that is known. False where there is none. */
bool old_load_at(const unsigned char *code, size_t at, uint32_t architecture, struct old_load *out);

#endif
