/* SPDX-License-Identifier: MIT */
#include "show_page.h"

#include <stdarg.h>

#include "text_print.h"

enum { SAID_BYTES = 1536, HANGING = 2 };

void page_begin(struct page *page, int indent)
{
    page->wrap = (struct text_wrap){.stream = page->stream,
                                    .width = page->look.width,
                                    .column = indent,
                                    .indent = indent ? indent + HANGING : 0};
    if (page->markdown)
        fputs(indent ? "- " : "", page->stream);
    else
        fprintf(page->stream, "%*s", indent, "");
}

static void say(struct page *page, const char *format, va_list arguments)
{
    char said[SAID_BYTES];

    vsnprintf(said, sizeof(said), format, arguments);
    text_clean(said);
    if (page->markdown)
        text_put(page->stream, escapes_markdown, said);
    else
        text_wrap(&page->wrap, said);
}

void page_say(struct page *page, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    say(page, format, arguments);
    va_end(arguments);
}

void page_line(struct page *page, int indent, const char *format, ...)
{
    va_list arguments;

    page_begin(page, indent);
    va_start(arguments, format);
    say(page, format, arguments);
    va_end(arguments);
    page_end(page);
}

void page_end(struct page *page)
{
    fputs(page->markdown ? "\n\n" : "\n", page->stream);
}

void page_title(struct page *page, const char *title)
{
    fputs(page->markdown ? "### " : "", page->stream);
    page_line(page, 0, "%s", title);
}

void page_gap(struct page *page)
{
    fputs(page->markdown ? "" : "\n", page->stream);
}

enum status page_grid(struct page *page, const struct grid *grid)
{
    if (!page->markdown)
        return grid_print(page->stream, grid, &page->look);
    grid_print_markdown(page->stream, grid);
    putc('\n', page->stream);
    return STATUS_OK;
}
