/* SPDX-License-Identifier: MIT
 * The steps of the store's schema, each ended by a NUL. */
#include "text_file.inc"

    .section .rodata.cbank_store, "a", %progbits
    text store_step_1, "harness/store/store_1.sql"
    text store_step_2, "harness/store/store_2.sql"
