/* SPDX-License-Identifier: MIT
 * The default card's text, as it lies in the repository. CBANK_CARD_FILE is its path from the root. */
#ifndef CBANK_CARD_FILE
#define CBANK_CARD_FILE "results/cards/h200.json"
#endif
    .section .rodata.cbank_card, "a", %progbits
    .globl cbank_card_start
    .globl cbank_card_end
    .hidden cbank_card_start
    .hidden cbank_card_end
cbank_card_start:
    .incbin CBANK_CARD_FILE
cbank_card_end:

    .section .note.GNU-stack, "", %progbits
