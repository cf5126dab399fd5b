/* SPDX-License-Identifier: MIT
 * The texts of the normals of normal.c, as they lie in the repository. */
#include "text_file.inc"
    .section .rodata.cbank_normal, "a", %progbits
    text cbank_normal_h200, results/normals/h200.json
