/* SPDX-License-Identifier: MIT
 * A comparison of two files as text. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advise.h"
#include "code_compare.h"
#include "kernel_name.h"
#include "log.h"
#include "memory.h"
#include "text.h"

enum { NAMES_SHOWN = 8, LINE_BYTES = 1024 };

/* "faster elsewhere: global" */
static void say_verdict(const char *verdict, const char *better, char out[64])
{
    snprintf(out, 64, "%s%s%s", verdict ? verdict : "-", better ? ": " : "", better ? better : "");
}

static void say_count(struct optional count, char out[64])
{
    snprintf(out, 64, count.known ? "%" PRIu64 : "-", count.value);
}

/* "wavefronts of a load 32 -> 1"; "" if they are alike, or are not known of both. */
static void say_wavefronts(const struct code_change *change, char out[64])
{
    if (fabs(change->wavefronts_before - change->wavefronts_after) > 1e-6)
        snprintf(out, 64, "wavefronts of a load %.3g -> %.3g", change->wavefronts_before,
                 change->wavefronts_after);
}

/* Prints the changes of one kernel as lines "name: before -> after". */
static void print_changes(FILE *stream, const struct code_change *changes, size_t count,
                          const struct print_style *look)
{
    for (size_t i = 0; i < count; i++) {
        const struct code_change *change = &changes[i];
        const bool verdict = change->verdict_before || change->verdict_after;
        char before[64], after[64], wavefronts[64] = "";

        if (verdict) {
            say_verdict(change->verdict_before, change->better_before, before);
            say_verdict(change->verdict_after, change->better_after, after);
            say_wavefronts(change, wavefronts);
        } else {
            say_count(change->before, before);
            say_count(change->after, after);
        }
        if (strcmp(before, after) == 0)
            advise_put(stream, look, "  %s: %s; %s", change->name, after, wavefronts);
        else
            advise_put(stream, look, "  %s: %s -> %s%s%s", change->name, before, after,
                       wavefronts[0] ? "; " : "", wavefronts);
    }
}

/* Names the kernels that one file has alone. */
static void print_lone(FILE *stream, const struct code_comparison *comparison, bool before,
                       const struct print_style *look)
{
    size_t count = 0;
    char names[LINE_BYTES] = "";

    for (size_t i = 0; i < comparison->lone_count; i++) {
        if (comparison->lone[i].before != before)
            continue;
        if (count++ < NAMES_SHOWN)
            text_join(names, sizeof(names), "; ", "%s", comparison->lone[i].name);
    }
    if (count > NAMES_SHOWN)
        text_join(names, sizeof(names), "; ", "and %zu more", count - NAMES_SHOWN);
    if (count > 0)
        advise_put(stream, look, "only %s: %s", before ? "before" : "after", names);
}

/* The text of the changes of a kernel, and how many kernels have it. */
struct variant {
    char *text; /* owned */
    const char *kernel;
    size_t count;
};

/* Adds the changes of a kernel to the variants. */
static enum status add_variant(const struct code_change *changes, size_t count,
                               const struct print_style *look, struct variant **variants,
                               size_t *variant_count)
{
    struct memory memory;
    FILE *stream = memory_open(&memory);

    if (stream)
        print_changes(stream, changes, count, look);
    if (!memory_close(&memory, stream))
        return log_memory("the changes of %s", changes->kernel);
    for (size_t i = 0; i < *variant_count; i++)
        if (strcmp((*variants)[i].text, memory.text) == 0) {
            (*variants)[i].count++;
            free(memory.text);
            return STATUS_OK;
        }
    if (!memory_grow(variants, *variant_count, sizeof(**variants))) {
        free(memory.text);
        return log_memory("the changes of %s", changes->kernel);
    }
    (*variants)[(*variant_count)++] = (struct variant){memory.text, changes->kernel, 1};
    return STATUS_OK;
}

static void print_variants(FILE *stream, const struct variant *variants, size_t count,
                           const struct print_style *look)
{
    for (size_t i = 0; i < count; i++) {
        struct text_wrap wrap = {.stream = stream, .width = look->width, .indent = 4};

        fputc('\n', stream);
        text_wrap(&wrap, "kernel ");
        text_wrap(&wrap, variants[i].kernel);
        fputc('\n', stream);
        if (variants[i].count > 1)
            advise_put(stream, look, "and %zu more kernels that changed alike",
                       variants[i].count - 1);
        fputs(variants[i].text, stream);
    }
}

enum status code_comparison_print(FILE *stream, const struct code_comparison *comparison,
                                  const struct card *card, const struct print_style *look)
{
    struct variant *variants = NULL;
    size_t count = 0;
    enum status status = STATUS_OK;

    text_line(stream, "before: %s, sm_%" PRIu32, comparison->before->path,
              comparison->before->architecture);
    text_line(stream, "after:  %s, sm_%" PRIu32, comparison->after->path,
              comparison->after->architecture);
    advise_put(stream, look,
               "%zu kernel%s in both, %zu of them changed: loads by the number of instructions, "
               "tables by their verdicts, with cycles by the card of %s, and wavefronts",
               comparison->both, comparison->both == 1 ? " is" : "s are", comparison->changed,
               card->name);
    print_lone(stream, comparison, true, look);
    print_lone(stream, comparison, false, look);
    for (size_t i = 0, end; status == STATUS_OK && i < comparison->change_count; i = end) {
        const struct code_change *first = &comparison->changes[i];

        /* Changes of a kernel follow each other, and it has its own text of the name. */
        for (end = i + 1;
             end < comparison->change_count && comparison->changes[end].kernel == first->kernel;)
            end++;
        status = add_variant(first, end - i, look, &variants, &count);
    }
    if (status == STATUS_OK)
        print_variants(stream, variants, count, look);
    for (size_t i = 0; i < count; i++)
        free(variants[i].text);
    free(variants);
    return status;
}
