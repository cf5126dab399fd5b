/* SPDX-License-Identifier: MIT */
#include "identity_csv.h"

#include <inttypes.h>

#include "text.h"

void identity_csv_names(FILE *stream)
{
    fputs("workload,path,pattern,elements,block_size,regime,", stream);
    for (size_t i = 0; i < parameter_count; i++)
        fprintf(stream, "%s,", parameters[i].name);
}

static void put_parameter(FILE *stream, uint32_t value)
{
    if (value)
        fprintf(stream, "%" PRIu32, value);
    putc(',', stream);
}

void identity_csv_fields(FILE *stream, const struct cell *cell)
{
    fprintf(stream, "%s,%s,%s,%" PRIu64 ",%" PRIu32 ",%s,", cell->workload->name, cell->path->name, cell->pattern->name,
            cell->elements, cell->block_size, cell->regime->name);
    for (size_t i = 0; i < parameter_count; i++)
        put_parameter(stream, cell->parameters[i]);
}
