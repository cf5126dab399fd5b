/* SPDX-License-Identifier: MIT
 * The text that kernel files are written from. */
#include "text_file.inc"
    .section .rodata.cbank_advise, "a", %progbits
    text cbank_advise_kernel, harness/advise/kernel_file.txt
