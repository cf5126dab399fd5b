/* SPDX-License-Identifier: MIT
 * What prints advice; inside of the room. */
#ifndef CBANK_ADVISE_VIEW_H
#define CBANK_ADVISE_VIEW_H

#include "advise.h"
#include "text.h"

struct advise_view {
    FILE *stream;
    const struct advice *advice;
    struct grid_look look;
};

/* A paragraph whose first line begins as the text does, and whose others are indented. */
#define advise_put(view, ...) \
    text_paragraph((struct text_wrap){.stream = (view)->stream, .width = (view)->look.width, .indent = 4}, __VA_ARGS__)

/* Prints what the user's code loads, where there is any. STATUS_ENVIRONMENT when out of memory. */
enum status advise_print_code(const struct advise_view *view);

#endif
