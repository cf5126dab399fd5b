/* SPDX-License-Identifier: MIT
 * The texts of the measured lookups of measured.c, as they lie in the repository. */
#include "text_file.inc"
    .section .rodata.cbank_lookups, "a", %progbits
    text cbank_lookups_h200, results/lookups/h200.json
    text cbank_lookups_h100, results/lookups/h100.json
