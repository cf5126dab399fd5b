/* SPDX-License-Identifier: MIT
 * The output of show: text for a terminal, or Markdown. */
#ifndef CBANK_SHOW_PAGE_H
#define CBANK_SHOW_PAGE_H

#include "grid.h"

struct page {
    FILE *stream;
    bool markdown;
    struct print_style look; /* of text */
    struct text_wrap wrap; /* of the open paragraph */
};

/* A paragraph: begun, written piece by piece, ended. In Markdown, an indented one is an item of a list. Characters with
 * a special meaning for a terminal or Markdown are replaced. */
void page_begin(struct page *page, int indent);
void page_say(struct page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));
void page_end(struct page *page);

/* A paragraph in one piece. */
void page_line(struct page *page, int indent, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The heading of a table. */
void page_title(struct page *page, const char *title);

/* An empty line; in Markdown, one follows everything. */
void page_gap(struct page *page);

/* A grid. STATUS_ENVIRONMENT when out of memory. */
enum status page_grid(struct page *page, const struct grid *grid);

#endif
