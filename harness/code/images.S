/* SPDX-License-Identifier: MIT
 * The archive of kernel images, as a section of the program. CBANK_IMAGES is its path: an empty
 * archive in a build without CUDA. image.c reads it through the two symbols, scripts/check_sass.py
 * by the section's name. */
    .section .cbank_images, "a", %progbits
    .balign 64
    .globl cbank_images_start
    .globl cbank_images_end
    .hidden cbank_images_start
    .hidden cbank_images_end
cbank_images_start:
    .incbin CBANK_IMAGES
cbank_images_end:

    .section .note.GNU-stack, "", %progbits
