/* SPDX-License-Identifier: MIT
 * Knows files of other programs about GPUs by the names of their members, or by how a text begins.
 */
#include "neighbour.h"

#include <string.h>

/* JSON by members of its outermost object, which all are there. */
static const struct {
    const char *keys[3], *says;
} formats[] = {
    {{"meta", "devices", "benchmarks"},
     "JSON of NVBench; cbank convert --to nvbench writes such files, of results"},
    {{"general", "compute", "memory"}, "JSON of MT4G; cbank convert --to card makes a card of it"},
    {{"context", "benchmarks"},
     "JSON of Google Benchmark; cbank convert --to gbench writes such files, of results"},
    {{"schema_version", "metadata", "results"},
     "JSON of Kernel Tuner; cbank convert --to kernel_tuner writes such files, of results"},
};

/* ncu --csv prints a line a counter of a launch, below this header and what ncu says itself. */
static const char ncu_header[] = "\"ID\",\"Process ID\",", ncu_says[] = "==PROF==",
                  ncu[] = "CSV of ncu; cbank run counts by itself, and cbank counters prints it";

enum { HEAD_BYTES = 1 << 16 }; /* where the header is looked for */

const char *neighbour_of_json(const cJSON *tree)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
        size_t found = 0, asked = 0;

        for (; asked < 3 && formats[i].keys[asked]; asked++)
            found += json_get(tree, formats[i].keys[asked]) != NULL;
        if (found == asked)
            return formats[i].says;
    }
    return NULL;
}

const char *neighbour_of_text(const char *text, size_t bytes)
{
    const size_t head = bytes < HEAD_BYTES ? bytes : HEAD_BYTES;
    const char *header = memmem(text, head, ncu_header, strlen(ncu_header));

    if (header && (header == text || header[-1] == '\n'))
        return ncu;
    return bytes >= strlen(ncu_says) && memcmp(text, ncu_says, strlen(ncu_says)) == 0 ? ncu : NULL;
}
