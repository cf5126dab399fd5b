/* SPDX-License-Identifier: MIT
 * Texts that are easier to write in files of their own, each ended by a NUL. */
#include "text_file.inc"

    .section .rodata.cbank_help, "a", %progbits
    text help_man_begin, "harness/command/man_begin.txt"
    text help_man_end, "harness/command/man_end.txt"
    text help_completion_end, "harness/command/completion_end.txt"
