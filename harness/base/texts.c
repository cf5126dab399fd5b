/* SPDX-License-Identifier: MIT
 * A list of owned texts, which grows by doubling. */
#include "texts.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

bool texts_take(struct texts *texts, char *text)
{
    const bool taken = text && memory_grow(&texts->items, texts->count, sizeof(*texts->items));

    if (taken)
        texts->items[texts->count++] = text;
    else
        free(text);
    return taken;
}

const char *texts_share(struct texts *texts, const char *text)
{
    for (size_t i = 0; i < texts->count; i++)
        if (strcmp(texts->items[i], text) == 0)
            return texts->items[i];
    return texts_take(texts, strdup(text)) ? texts->items[texts->count - 1] : NULL;
}

char *texts_join(const struct texts *texts, const char *before)
{
    struct memory memory;
    FILE *const stream = memory_open(&memory);

    for (size_t i = 0; stream && i < texts->count; i++)
        fprintf(stream, "%s%s", i ? "," : before, texts->items[i]);
    return memory_close(&memory, stream) ? memory.text : NULL;
}

void texts_close(struct texts *texts)
{
    for (size_t i = 0; i < texts->count; i++)
        free(texts->items[i]);
    free(texts->items);
    *texts = (struct texts){0};
}
