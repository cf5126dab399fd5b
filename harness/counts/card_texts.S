/* SPDX-License-Identifier: MIT
 * The texts of the cards of cards.def, as they lie in the repository: cbank_card_NAME to
 * cbank_card_NAME_end. */
    .section .rodata.cbank_card, "a", %progbits
#define CARD_FILE(name, path)       \
    .globl cbank_card_##name;       \
    .globl cbank_card_##name##_end; \
    .hidden cbank_card_##name;      \
    .hidden cbank_card_##name##_end; \
cbank_card_##name:;                 \
    .incbin path;                   \
cbank_card_##name##_end:;
#include "cards.def"

    .section .note.GNU-stack, "", %progbits
