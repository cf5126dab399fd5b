/* SPDX-License-Identifier: MIT
 * The texts of the cards of card.c, as they lie in the repository. */
#include "text_file.inc"
    .section .rodata.cbank_card, "a", %progbits
    text cbank_card_h200, results/cards/h200.json
    text cbank_card_h100, results/cards/h100.json
    text cbank_card_rtx3070, results/cards/rtx3070.json
    text cbank_card_a100, results/cards/a100.json
    text cbank_card_t4, results/cards/t4.json
    text cbank_card_rtx2080ti, results/cards/rtx2080ti.json
    text cbank_card_v100, results/cards/v100.json
    text cbank_card_p6000, results/cards/p6000.json
    text cbank_card_gtx980, results/cards/gtx980.json
    text cbank_card_k40, results/cards/k40.json
    text cbank_card_gtx480, results/cards/gtx480.json
    text cbank_card_gtx280, results/cards/gtx280.json
