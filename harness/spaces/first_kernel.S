/* SPDX-License-Identifier: MIT
 * The kernel file that `cbank spaces --new` writes. */
#include "text_file.inc"
    .section .rodata.cbank_first_kernel, "a", %progbits
    text spaces_first_kernel, harness/spaces/first_kernel.cu
