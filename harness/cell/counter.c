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

static double in_stretch(const struct sass_stretch *stretch, size_t member)
{
    return *(const uint32_t *)((const char *)stretch + member);
}

/* How often the instructions of a member of struct sass_stretch are executed. Every warp executes those before the
 * guard, warps with an element those after it, and each warp those in loops once for every element. NaN if the kernel's
 * code is not known. */
static double executed(const struct expectation *e, size_t member)
{
    const struct sass_counts *code = e->sass;
    const double launched = (double)e->access->warps_launched, active = (double)e->access->warps_active;

    double groups;

    if (!code)
        return NAN;
    groups = code->group.instructions ? active * workload_groups(e->cell->workload, e->cell->parameters) : 0;
    return launched * in_stretch(&code->prologue, member) + fmin(launched, active) * in_stretch(&code->body, member) +
           active * in_stretch(&code->round, member) + groups * in_stretch(&code->group, member);
}

/* Payload on the constant path, and the LDC of parameters found in the SASS. */
static double expect_ldc(const struct expectation *e)
{
    return executed(e, offsetof(struct sass_stretch, ldc_parameter)) +
           executed(e, offsetof(struct sass_stretch, ldc_user));
}

/* A count of payload for paths of these units (a set of bits); 0 for other paths. */
static double payload(const struct expectation *e, unsigned units, uint64_t count)
{
    return units >> e->cell->path->unit & 1 ? (double)count : 0;
}

/* Whether the width allows an expected value. Without a GPU two things are not known: the requests of the constant
 * caches for addresses that are not words, and those of L1 for wide loads. */
static bool known_width(const struct expectation *e, unsigned units, uint32_t widest)
{
    const uint32_t width = table_width(e->cell->parameters);

    return !(units >> e->cell->path->unit & 1) || width == sizeof(uint32_t) || width < widest;
}

/* The same for the loads that copy the table. They copy entries where the path holds small tables, else words. */
static bool known_copies(const struct expectation *e)
{
    return !path_is_small(e->cell->path) || table_width(e->cell->parameters) <= sizeof(uint32_t);
}

/* Units whose payload loads are global loads. Loads past L1 also go through its front. */
enum { GLOBAL_UNITS = 1 << UNIT_L1 | 1 << UNIT_L2 };

/* One request for each distinct address of a payload load, also of one from parameters. One for each other LDC, since
 * all of its threads have one address. */
static double expect_idc_requests(const struct expectation *e)
{
    if (!known_width(e, 1 << UNIT_IDC, 0))
        return NAN;
    return executed(e, offsetof(struct sass_stretch, ldc_parameter)) -
           (double)(e->cell->path->home == TABLE_PARAMETER ? e->access->payload_loads : 0) +
           payload(e, 1 << UNIT_IDC, e->access->addresses);
}

/* Global loads except those of the input: copies of the table into shared memory or registers, and the payload on some
 * paths. */
static double table_loads(const struct expectation *e)
{
    return (double)e->access->staging_loads + payload(e, GLOBAL_UNITS, e->access->payload_loads);
}

/* A load with no active thread, around the edges of an image, is executed all the same. Where only some warps of a
 * block load its halo, the code decides whether the others go around those loads. */
static double expect_global_loads(const struct expectation *e)
{
    const struct cell *cell = e->cell;
    const bool halo = workload_has_halo(cell->workload);
    const uint64_t warps = halo ? e->access->warps_launched : e->access->warps_active;

    if (halo && cell->block_size > CBANK_WARP_THREADS)
        return NAN;
    return (double)warps * workload_input_loads(cell->workload, cell->parameters) + table_loads(e);
}

/* A load with no active thread makes no request to L1. */
static double expect_l1_requests(const struct expectation *e)
{
    if (!known_width(e, GLOBAL_UNITS, sizeof(uint32_t)) || !known_copies(e))
        return NAN;
    return (double)e->access->stream_loads + table_loads(e);
}

static double expect_l1_sectors(const struct expectation *e)
{
    if (!known_width(e, GLOBAL_UNITS, sizeof(uint32_t)) || !known_copies(e))
        return NAN;
    return (double)(e->access->stream_sectors + e->access->staging_sectors) +
           payload(e, GLOBAL_UNITS, e->access->sectors);
}

/* Loads from the tile of the input, and payload. */
static double expect_shared_loads(const struct expectation *e)
{
    return (double)e->access->warps_active * workload_tile_loads(e->cell->workload, e->cell->parameters) +
           payload(e, 1 << UNIT_SHARED, e->access->payload_loads);
}

static double expect_texture_loads(const struct expectation *e)
{
    return payload(e, 1 << UNIT_TEXTURE, e->access->payload_loads);
}

/* Hopper sends each uniform constant load to the immediate constant cache. This was counted on an H200 and is not known
 * elsewhere. Requests of constant operands are not known. */
static double expect_imc_requests(const struct expectation *e)
{
    const bool known = e->sass && e->sass->architecture == 90 && e->cell->path->unit != UNIT_IMC &&
                       known_width(e, 1 << UNIT_UNIFORM, 0);

    return known ? executed(e, offsetof(struct sass_stretch, uniform_constant)) : NAN;
}

/* Where only some threads of a warp take part in its last round, the others leave the loop first. The code after the
 * loop is then executed twice. */
static double expect_instructions(const struct expectation *e)
{
    if (e->access->warps_active > e->access->warps_launched && e->cell->elements % CBANK_WARP_THREADS)
        return NAN;
    return executed(e, offsetof(struct sass_stretch, instructions));
}

/* -- the table ---------------------------------------------------------------------------------------- */

/* clang-format off */
/* name, summary, unit, metrics, kind, expect */
const struct counter counters[] = {
    {"ldc_instructions", "LDC instructions executed, of payload and parameters", "warp instructions",
     {"smsp__inst_executed_op_ldc.sum"}, COUNTER_EXACT, expect_ldc},
    {"idc_requests", "requests to the indexed constant cache: one per distinct address of a load", "requests",
     {"idc__requests.sum"}, COUNTER_EXACT, expect_idc_requests},
    {"idc_hits", "requests less misses: below zero where requests miss more than once", "requests",
     {"idc__requests_lookup_hit.sum"}, COUNTER_MEASURED, NULL},
    {"idc_misses", "lookups of the indexed constant cache that missed, retries of a request counted", "lookups",
     {"idc__requests_lookup_miss.sum"}, COUNTER_MEASURED, NULL},
    {"idc_misses_new", "misses whose line nobody had asked for yet", "lookups",
     {"idc__requests_lookup_miss_tag_miss.sum"}, COUNTER_MEASURED, NULL},
    {"idc_misses_pending", "misses whose line was on its way", "lookups", {"idc__requests_lookup_miss_tag_hit.sum"},
     COUNTER_MEASURED, NULL},
    {"idc_misses_retried", "misses that found no free tag and were tried again", "lookups",
     {"idc__requests_lookup_miss_tag_unavailable.sum"}, COUNTER_MEASURED, NULL},
    {"idc_active_cycles", "cycles the indexed constant caches worked on requests, all SMs", "cycles",
     {"idc__request_cycles_active.sum"}, COUNTER_MEASURED, NULL},
    {"gcc_constant_requests", "constant requests to the caches of the GPCs", "requests",
     {"gcc__cache_requests_type_constant.sum"}, COUNTER_MEASURED, NULL},
    {"gcc_constant_misses", "constant requests that missed in the caches of the GPCs", "requests",
     {"gcc__cache_requests_type_constant_lookup_miss.sum"}, COUNTER_MEASURED, NULL},
    {"imc_requests", "requests to the immediate constant caches: constant operands and uniform loads", "requests",
     {"smsp__imc_requests.sum"}, COUNTER_EXACT, expect_imc_requests},
    {"global_load_instructions", "LDG instructions executed, of input, payload and copies of the table",
     "warp instructions", {"smsp__inst_executed_op_global_ld.sum"}, COUNTER_EXACT, expect_global_loads},
    {"l1_requests", "global load requests to the L1 data cache", "requests",
     {"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"}, COUNTER_EXACT, expect_l1_requests},
    {"l1_sectors", "32-byte sectors that global loads asked of the L1 data cache", "sectors",
     {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"}, COUNTER_EXACT, expect_l1_sectors},
    {"texture_instructions", "texture instructions executed", "warp instructions",
     {"smsp__inst_executed_op_texture.sum"}, COUNTER_EXACT, expect_texture_loads},
    {"shared_load_instructions",
     "LDS instructions executed, of payload and of a workload's tile, by one thread at least", "warp instructions",
     {"smsp__inst_executed_op_shared_ld_pred_on_any.sum"}, COUNTER_EXACT, expect_shared_loads},
    {"shared_wavefronts", "turns that shared memory takes to answer them, waits for the copies included", "wavefronts",
     {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"}, COUNTER_MEASURED, NULL},
    {"l2_sectors", "sectors that L2 handled, of everything on the device", "sectors", {"lts__t_sectors.sum"},
     COUNTER_MEASURED, NULL},
    {"dram_read_bytes", "bytes read from device memory", "bytes", {"dram__bytes_read.sum", "fbpa__dram_read_bytes.sum"},
     COUNTER_MEASURED, NULL},
    {"dram_write_bytes", "bytes written to device memory", "bytes",
     {"dram__bytes_write.sum", "fbpa__dram_write_bytes.sum"}, COUNTER_MEASURED, NULL},
    {"instructions", "instructions executed", "warp instructions", {"smsp__inst_executed.sum"}, COUNTER_EXACT,
     expect_instructions},
    {"sm_cycles", "cycles with a warp resident, busiest SM", "cycles", {"sm__cycles_active.max"}, COUNTER_MEASURED,
     NULL},
};
/* clang-format on */

const size_t counter_count = sizeof(counters) / sizeof(counters[0]);

static const struct table counter_table = TABLE("counter", counters, counter_count);

/* -- sets --------------------------------------------------------------------------------------------- */

/* One word of the user's list: "default", "none", a name of the table, or a metric name of CUPTI. */
static enum status set_add(struct counter_set *set, const char *name)
{
    const struct table taken = TABLE("counter", set->counters, set->count);
    const struct counter *row = table_find(&counter_table, name);

    if (strcmp(name, "none") == 0 || table_find(&taken, name))
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
    /* A list of n bytes has at most n names in addition to those of "default". */
    struct counter_set set = {.counters = calloc(strlen(text) + 1 + counter_count, sizeof(*set.counters)),
                              .names = strdup(text)};
    enum status status = STATUS_OK;

    if (!set.counters || !set.names)
        status = log_memory("the names of counters");
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
    const struct table table = TABLE("counter", values, count);

    return table_find(&table, name);
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
