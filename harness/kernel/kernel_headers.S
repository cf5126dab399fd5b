/* SPDX-License-Identifier: MIT
 * The texts of the headers that kernel files include, so that the program works where they are not
 * installed. */
#include "text_file.inc"
    .section .rodata.cbank_headers, "a", %progbits
    text cbank_header_tables, kernels/cbank.cuh
    text cbank_header_shared, kernels/cbank_shared.cuh
    text cbank_header_case, kernels/cbank_case.h
