/* SPDX-License-Identifier: MIT */
#include "counter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "table.h"

const char *const counter_kind_names[] = {[COUNTER_EXACT] = "exact", [COUNTER_MEASURED] = "measured"};

const char *const counter_status_names[] = {
    [COUNTER_NOT_COLLECTED] = "not_collected", [COUNTER_OK] = "ok",
    [COUNTER_UNSUPPORTED] = "unsupported",     [COUNTER_UNAVAILABLE] = "unavailable",
    [COUNTER_NO_PERMISSION] = "no_permission",
};

/* -- expected values ---------------------------------------------------------------------------------- */

/* How often instructions are executed: `prologue` before the guard, by every warp, and `body` behind it. NaN without
 * the kernel's code, in which they were counted. */
static double executions(const struct expectation *e, uint32_t prologue, uint32_t body)
{
    return e->sass ? (double)e->access->warps_launched * prologue + (double)e->access->warps_active * body : NAN;
}

/* The counts of the code; none where it is not known. */
static const struct sass_counts *code(const struct expectation *e)
{
    static const struct sass_counts none = {0};

    return e->sass ? e->sass : &none;
}

/* Payload loads on the constant path, and LDC of parameters wherever the SASS has them. */
static double expect_ldc(const struct expectation *e)
{
    return executions(e, code(e)->prologue.ldc_parameter + code(e)->prologue.ldc_user,
                      code(e)->body.ldc_parameter + code(e)->body.ldc_user);
}

/* One request for each distinct address of a payload load, which may be one of parameters, and one for each other LDC:
 * all threads have one address. */
static double expect_idc_requests(const struct expectation *e)
{
    const struct path *path = e->cell->path;

    return executions(e, code(e)->prologue.ldc_parameter, code(e)->body.ldc_parameter) -
           (double)(path->home == TABLE_PARAMETER ? e->access->payload_loads : 0) +
           (double)(path->unit == UNIT_IDC ? e->access->addresses : 0);
}

/* Whether payload loads are global loads: those past L1 go through its front too. */
static bool payload_is_global(const struct cell *cell)
{
    return cell->path->unit == UNIT_L1 || cell->path->unit == UNIT_L2;
}

/* Global loads beside the input's: those that copy the table into shared memory, and on some paths the payload's. */
static double table_loads(const struct expectation *e)
{
    return (double)(e->access->staging_loads + (payload_is_global(e->cell) ? e->access->payload_loads : 0));
}

/* A load in which no thread loads, around the edges of an image, is executed all the same. Where a block has more warps
 * than load its halo, whether the others go around those loads depends on the code. */
static double expect_global_loads(const struct expectation *e)
{
    const struct cell *cell = e->cell;
    const bool halo = workload_has_halo(cell->workload);
    const uint64_t warps = halo ? e->access->warps_launched : e->access->warps_active;

    if (halo && cell->block_size > CBANK_WARP_THREADS)
        return NAN;
    return (double)warps * workload_input_loads(cell->workload, cell->parameters) + table_loads(e);
}

/* A load in which no thread loads asks L1 for nothing. */
static double expect_l1_requests(const struct expectation *e)
{
    return (double)e->access->stream_loads + table_loads(e);
}

static double expect_l1_sectors(const struct expectation *e)
{
    return (double)(e->access->stream_sectors + e->access->staging_sectors +
                    (payload_is_global(e->cell) ? e->access->sectors : 0));
}

/* Loads of the payload that a path of this unit makes; 0 for other paths. */
static double payload_through(const struct expectation *e, enum load_unit unit)
{
    return e->cell->path->unit == unit ? (double)e->access->payload_loads : 0;
}

/* Those from the tile of the input, and payload. */
static double expect_shared_loads(const struct expectation *e)
{
    return (double)e->access->warps_active * workload_tile_loads(e->cell->workload, e->cell->parameters) +
           payload_through(e, UNIT_SHARED);
}

static double expect_texture_loads(const struct expectation *e)
{
    return payload_through(e, UNIT_TEXTURE);
}

/* Hopper sends each uniform constant load to the immediate constant cache; counted on an H200, not known
 * elsewhere. What a constant operand asks for is not known. */
static double expect_imc_requests(const struct expectation *e)
{
    if (code(e)->architecture != 90 || e->cell->path->unit == UNIT_IMC)
        return NAN;
    return executions(e, code(e)->prologue.uniform_constant, code(e)->body.uniform_constant);
}

static double expect_instructions(const struct expectation *e)
{
    return executions(e, code(e)->prologue.instructions, code(e)->body.instructions);
}

/* -- the table ---------------------------------------------------------------------------------------- */

/* clang-format off */
const struct counter counters[] = {
    {.name = "ldc_instructions", .summary = "LDC instructions executed, of payload and parameters",
     .unit = "warp instructions", .metrics = {"smsp__inst_executed_op_ldc.sum"},
     .kind = COUNTER_EXACT, .expect = expect_ldc},
    {.name = "idc_requests", .summary = "requests to the indexed constant cache: one per distinct address of a load",
     .unit = "requests", .metrics = {"idc__requests.sum"}, .kind = COUNTER_EXACT, .expect = expect_idc_requests},
    {.name = "idc_hits", .summary = "requests less misses: below zero where requests miss more than once",
     .unit = "requests",
     .metrics = {"idc__requests_lookup_hit.sum"}, .kind = COUNTER_MEASURED},
    {.name = "idc_misses", .summary = "lookups of the indexed constant cache that missed, retries of a request counted",
     .unit = "lookups", .metrics = {"idc__requests_lookup_miss.sum"}, .kind = COUNTER_MEASURED},
    {.name = "idc_misses_new", .summary = "misses whose line nobody had asked for yet", .unit = "lookups",
     .metrics = {"idc__requests_lookup_miss_tag_miss.sum"}, .kind = COUNTER_MEASURED},
    {.name = "idc_misses_pending", .summary = "misses whose line was on its way", .unit = "lookups",
     .metrics = {"idc__requests_lookup_miss_tag_hit.sum"}, .kind = COUNTER_MEASURED},
    {.name = "idc_misses_retried", .summary = "misses that found no free tag and were tried again", .unit = "lookups",
     .metrics = {"idc__requests_lookup_miss_tag_unavailable.sum"}, .kind = COUNTER_MEASURED},
    {.name = "idc_active_cycles", .summary = "cycles the indexed constant caches worked on requests, all SMs",
     .unit = "cycles", .metrics = {"idc__request_cycles_active.sum"}, .kind = COUNTER_MEASURED},
    {.name = "gcc_constant_requests", .summary = "constant requests to the caches of the GPCs", .unit = "requests",
     .metrics = {"gcc__cache_requests_type_constant.sum"}, .kind = COUNTER_MEASURED},
    {.name = "gcc_constant_misses", .summary = "constant requests that missed in the caches of the GPCs",
     .unit = "requests", .metrics = {"gcc__cache_requests_type_constant_lookup_miss.sum"}, .kind = COUNTER_MEASURED},
    {.name = "imc_requests", .summary = "requests to the immediate constant caches: constant operands and uniform loads",
     .unit = "requests", .metrics = {"smsp__imc_requests.sum"}, .kind = COUNTER_EXACT, .expect = expect_imc_requests},
    {.name = "global_load_instructions",
     .summary = "LDG instructions executed, of input, payload and copies of the table", .unit = "warp instructions",
     .metrics = {"smsp__inst_executed_op_global_ld.sum"}, .kind = COUNTER_EXACT, .expect = expect_global_loads},
    {.name = "l1_requests", .summary = "global load requests to the L1 data cache", .unit = "requests",
     .metrics = {"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"}, .kind = COUNTER_EXACT,
     .expect = expect_l1_requests},
    {.name = "l1_sectors", .summary = "32-byte sectors that global loads asked of the L1 data cache",
     .unit = "sectors", .metrics = {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"}, .kind = COUNTER_EXACT,
     .expect = expect_l1_sectors},
    {.name = "texture_instructions", .summary = "texture instructions executed", .unit = "warp instructions",
     .metrics = {"smsp__inst_executed_op_texture.sum"}, .kind = COUNTER_EXACT, .expect = expect_texture_loads},
    {.name = "shared_load_instructions",
     .summary = "LDS instructions executed, of payload and of a workload's tile, by one thread at least",
     .unit = "warp instructions", .metrics = {"smsp__inst_executed_op_shared_ld_pred_on_any.sum"},
     .kind = COUNTER_EXACT, .expect = expect_shared_loads},
    {.name = "shared_wavefronts", .summary = "turns that shared memory takes to answer them, waits for the copies included",
     .unit = "wavefronts", .metrics = {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"},
     .kind = COUNTER_MEASURED},
    {.name = "l2_sectors", .summary = "sectors that L2 handled, of everything on the device", .unit = "sectors",
     .metrics = {"lts__t_sectors.sum"}, .kind = COUNTER_MEASURED},
    {.name = "dram_read_bytes", .summary = "bytes read from device memory", .unit = "bytes",
     .metrics = {"dram__bytes_read.sum", "fbpa__dram_read_bytes.sum"}, .kind = COUNTER_MEASURED},
    {.name = "dram_write_bytes", .summary = "bytes written to device memory", .unit = "bytes",
     .metrics = {"dram__bytes_write.sum", "fbpa__dram_write_bytes.sum"}, .kind = COUNTER_MEASURED},
    {.name = "instructions", .summary = "instructions executed", .unit = "warp instructions",
     .metrics = {"smsp__inst_executed.sum"}, .kind = COUNTER_EXACT, .expect = expect_instructions},
    {.name = "sm_cycles", .summary = "cycles with a warp resident, busiest SM", .unit = "cycles",
     .metrics = {"sm__cycles_active.max"}, .kind = COUNTER_MEASURED},
};
/* clang-format on */

const size_t counter_count = sizeof(counters) / sizeof(counters[0]);

static const struct table counter_table = TABLE("counter", counters, counter_count);

/* -- sets --------------------------------------------------------------------------------------------- */

static bool set_has(const struct counter_set *set, const char *name)
{
    for (size_t i = 0; i < set->count; i++)
        if (strcmp(set->counters[i].name, name) == 0)
            return true;
    return false;
}

/* One word of the user's list: "default", "none", a name of the table, or a metric of CUPTI's. */
static enum status set_add(struct counter_set *set, const char *name)
{
    const struct counter *row = table_find(&counter_table, name);

    if (strcmp(name, "none") == 0 || set_has(set, name))
        return STATUS_OK;
    if (strcmp(name, "default") == 0) {
        for (size_t i = 0; i < counter_count; i++)
            set_add(set, counters[i].name);
        return STATUS_OK;
    }
    if (!row && !strstr(name, "__"))
        return table_unknown(&counter_table, name);
    set->counters[set->count++] = row ? *row
                                      : (struct counter){.name = name,
                                                         .summary = "CUPTI metric",
                                                         .unit = "",
                                                         .metrics = {name},
                                                         .kind = COUNTER_MEASURED};
    return STATUS_OK;
}

enum status counter_set_parse(const char *text, struct counter_set *out)
{
    /* A list of n bytes has at most n names, beside those that "default" stands for. */
    struct counter_set set = {.counters = calloc(strlen(text) + 1 + counter_count, sizeof(*set.counters)),
                              .names = strdup(text)};
    enum status status = STATUS_OK;

    if (!set.counters || !set.names)
        status = log_error(STATUS_ENVIRONMENT, "out of memory");
    else
        for (char *rest = set.names, *name; status == STATUS_OK && (name = strsep(&rest, ","));)
            status = set_add(&set, name);
    if (status == STATUS_OK)
        *out = set;
    else
        counter_set_close(&set);
    return status;
}

void counter_set_close(struct counter_set *set)
{
    free(set->counters);
    free(set->names);
    *set = (struct counter_set){0};
}

const struct counter_value *counter_find(const struct counter_value *values, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(values[i].name, name) == 0)
            return &values[i];
    return NULL;
}

double counter_counted(const struct counter_value *values, size_t count, const char *name)
{
    const struct counter_value *value = counter_find(values, count, name);

    return value && value->status == COUNTER_OK ? value->value : NAN;
}

bool counter_differs(const struct counter_value *value)
{
    return value->status == COUNTER_OK && value->kind == COUNTER_EXACT && !isnan(value->expected) &&
           value->value != value->expected;
}
