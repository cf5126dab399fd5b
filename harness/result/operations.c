/* SPDX-License-Identifier: MIT
 * Arithmetic intensity: the operations of a cell over the bytes that counters read at L2 and DRAM,
 * and the ideal of a filter, which multiplies and adds for each element that it reads or writes. */
#include "operations.h"

#include <math.h>

#include "user_cell.h"

static double counter_read(const struct cell_result *cell, const char *name)
{
    return counter_counted(cell->counters, cell->counter_count, name);
}

/* NaN where there are no bytes. */
static double per_byte(double operations, double bytes)
{
    return bytes > 0 ? operations / bytes : NAN;
}

struct operations_per_byte cell_operations_per_byte(const struct cell_result *cell)
{
    enum { PRODUCT_OPERATIONS = 2, ELEMENT_BYTES = 4, L2_SECTOR_BYTES = 32 };
    const double operations = cell->operations ? (double)cell->operations : NAN;
    const double global_bytes =
        cell->cell.path->home == TABLE_GLOBAL ? 2 * ELEMENT_BYTES : ELEMENT_BYTES;
    const bool products = cell->cell.path->loads && workload_multiplies(cell->cell.workload);

    return (struct operations_per_byte){
        .ideal = products ? PRODUCT_OPERATIONS / global_bytes : NAN,
        .dram = per_byte(operations, counter_read(cell, "dram_read_bytes") +
                                         counter_read(cell, "dram_write_bytes")),
        .l2 = per_byte(operations, L2_SECTOR_BYTES * counter_read(cell, "l2_sectors")),
    };
}
