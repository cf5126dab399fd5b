/* SPDX-License-Identifier: MIT
 * Lists of facts: see code_facts.h. */
#include "code_facts.h"

#include <stdlib.h>

#include "log.h"
#include "memory.h"

enum status code_fact_add(struct code_fact_list *list, uint32_t place, uint32_t value)
{
    if (!memory_grow(&list->facts, list->count, sizeof(*list->facts)))
        return log_memory("what a cubin says of a kernel");
    list->facts[list->count++] = (struct code_fact){place, value};
    return STATUS_OK;
}

static int compare_facts(const void *a, const void *b)
{
    const struct code_fact *x = a, *y = b;

    return x->place < y->place ? -1 : x->place > y->place;
}

void code_facts_sort(struct code_fact_list *list)
{
    if (list->count > 1)
        qsort(list->facts, list->count, sizeof(*list->facts), compare_facts);
}

const struct code_fact *code_fact_before(const struct code_fact_list *list, uint32_t place)
{
    size_t low = 0, high = list->count;

    while (low < high) {
        const size_t middle = (low + high) / 2;

        if (list->facts[middle].place <= place)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? &list->facts[low - 1] : NULL;
}

void code_facts_close(struct code_fact_list *list)
{
    free(list->facts);
    *list = (struct code_fact_list){0};
}
