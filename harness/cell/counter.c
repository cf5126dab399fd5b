/* SPDX-License-Identifier: MIT
 * The table of counters, and what each of them must read. An expected value is made of the exact
 * counts of the cell's loads and of the instructions that its machine code has around them:
 *
 *   launched x prologue + active x (body + rounds + groups of a round)     of warps
 *
 * A kernel whose code is not known has no expectation, and its counter says so. */
#include "counter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "payload.h"
#include "table.h"
#include "user_cell.h"

const char *const counter_kind_names[] =
    {[COUNTER_EXACT] = "exact", [COUNTER_MEASURED] = "measured"};

const char *const counter_status_names[] = {
    [COUNTER_NOT_COLLECTED] = "not_collected", [COUNTER_OK] = "ok",
    [COUNTER_UNSUPPORTED] = "unsupported",     [COUNTER_UNAVAILABLE] = "unavailable",
    [COUNTER_NO_PERMISSION] = "no_permission",
};

/* -- expected values --------------------------------------------------------------------------- */

static double in_stretch(const struct sass_stretch *stretch, size_t member)
{
    return *(const uint32_t *)((const char *)stretch + member);
}

/* How often the instructions of a member of struct sass_stretch are executed. Every warp executes
 * those before the guard, warps with an element those after it, and each warp those in loops once
 * for every element. NaN if the kernel's code is not known. */
static double executed(const struct expectation *e, size_t member)
{
    const struct sass_counts *code = e->sass;
    const double launched = (double)e->access->warps_launched,
                 active = (double)e->access->warps_active;

    double groups;

    if (!code)
        return NAN;
    groups = code->group.instructions
                 ? active * workload_groups(e->cell->workload, e->cell->parameters)
                 : 0;
    return launched * in_stretch(&code->prologue, member) +
           fmin(launched, active) * in_stretch(&code->body, member) +
           active * in_stretch(&code->round, member) + groups * in_stretch(&code->group, member);
}

enum expected {
    EXPECT_NOTHING,
    EXPECT_LDC,
    EXPECT_IDC_REQUESTS,
    EXPECT_IMC_REQUESTS,
    EXPECT_GLOBAL_LOADS,
    EXPECT_L1_REQUESTS,
    EXPECT_L1_SECTORS,
    EXPECT_TEXTURE_LOADS,
    EXPECT_SHARED_LOADS,
    EXPECT_INSTRUCTIONS,
};

/* What several expectations need of a cell's loads. */
struct loads {
    const struct cell *cell;
    const struct access_counts *access;
    enum load_unit unit;
    bool word; /* a payload load is of words */
    bool global; /* it passes the front of L1; so do loads past L1 */
    bool l1_known; /* the requests of L1 are known */
    double payload;
    double table; /* global loads except those of the input */
};

static struct loads loads_of(const struct expectation *e)
{
    const struct cell *cell = e->cell;
    const enum load_unit unit = cell->path->unit;
    const uint32_t width = table_width(cell->parameters);
    /* Selections read no memory. */
    const uint32_t part = unit == UNIT_SELECT ? width : width / payload_pieces(cell);
    const bool global = unit == UNIT_L1 || unit == UNIT_L2;
    const double payload = (double)e->access->payload_loads;

    return (struct loads){
        .cell = cell,
        .access = e->access,
        .unit = unit,
        .word = part == sizeof(uint32_t),
        .global = global,
        /* Without a GPU, the requests of L1 for wide loads are not known. The loads that copy a
         * table are wide where the path holds small tables. */
        .l1_known =
            (global ? part : width) <= sizeof(uint32_t) || (!global && !path_is_small(cell->path)),
        .payload = payload,
        .table = (double)e->access->staging_loads + (global ? payload : 0),
    };
}

/* One request for each distinct address of a payload load, also of one from parameters. One for
 * each other LDC, since all of its threads have one address. Requests for addresses that are not
 * words are not known. */
static double expected_idc_requests(const struct expectation *e, const struct loads *loads)
{
    if (loads->unit == UNIT_IDC && !loads->word)
        return NAN;
    return executed(e, offsetof(struct sass_stretch, ldc_parameter)) -
           (loads->cell->path->home == TABLE_PARAMETER ? loads->payload : 0) +
           (loads->unit == UNIT_IDC ? (double)loads->access->addresses : 0);
}

/* Hopper sends each uniform constant load to the immediate constant cache. This was counted on an
 * H200 and is not known elsewhere. Requests of constant operands are not known. */
static double expected_imc_requests(const struct expectation *e, const struct loads *loads)
{
    if (!e->sass || e->sass->architecture != 90 || loads->unit == UNIT_IMC ||
        (loads->unit == UNIT_UNIFORM && !loads->word))
        return NAN;
    return executed(e, offsetof(struct sass_stretch, uniform_constant));
}

/* A load with no active thread, around the edges of an image, is executed all the same. Where only
 * some warps of a block load its halo, the code decides whether the others go around those loads.
 */
static double expected_global_loads(const struct loads *loads)
{
    const bool halo = workload_has_halo(loads->cell->workload);

    if (halo && loads->cell->block_size > CBANK_WARP_THREADS)
        return NAN;
    return (double)(halo ? loads->access->warps_launched : loads->access->warps_active) *
               workload_input_loads(loads->cell->workload, loads->cell->parameters) +
           loads->table;
}

/* Where only some threads of a warp take part in its last round, the others leave the loop first.
 * The code after the loop is then executed twice. */
static double expected_instructions(const struct expectation *e)
{
    if (e->access->warps_active > e->access->warps_launched &&
        e->cell->elements % CBANK_WARP_THREADS)
        return NAN;
    return executed(e, offsetof(struct sass_stretch, instructions));
}

double counter_expected(const struct counter *counter, const struct expectation *e)
{
    struct loads loads;

    if (cell_is_user(e->cell))
        return NAN;
    loads = loads_of(e);
    switch ((enum expected)counter->expect) {
    case EXPECT_LDC:
        return executed(e, offsetof(struct sass_stretch, ldc_parameter)) +
               executed(e, offsetof(struct sass_stretch, ldc_user));
    case EXPECT_IDC_REQUESTS:
        return expected_idc_requests(e, &loads);
    case EXPECT_IMC_REQUESTS:
        return expected_imc_requests(e, &loads);
    case EXPECT_GLOBAL_LOADS:
        return expected_global_loads(&loads);
    case EXPECT_L1_REQUESTS: /* none for a load with no active thread */
        return loads.l1_known ? (double)loads.access->stream_loads + loads.table : NAN;
    case EXPECT_L1_SECTORS:
        return loads.l1_known
                   ? (double)(loads.access->stream_sectors + loads.access->staging_sectors +
                              (loads.global ? loads.access->sectors : 0))
                   : NAN;
    case EXPECT_TEXTURE_LOADS:
        return loads.unit == UNIT_TEXTURE ? loads.payload : 0;
    case EXPECT_SHARED_LOADS:
        return (double)loads.access->warps_active *
                   workload_tile_loads(loads.cell->workload, loads.cell->parameters) +
               (loads.unit == UNIT_SHARED ? loads.payload : 0);
    case EXPECT_INSTRUCTIONS:
        return expected_instructions(e);
    default:
        return NAN;
    }
}

/* -- the table --------------------------------------------------------------------------------- */

/* name, summary, unit, metrics, kind, expect */
const struct counter counters[] = {
    {"ldc_instructions",
     "LDC instructions executed, of payload and parameters",
     "warp instructions",
     {"smsp__inst_executed_op_ldc.sum"},
     COUNTER_EXACT,
     EXPECT_LDC},
    {"idc_requests",
     "requests to the indexed constant cache: one per distinct address of a load",
     "requests",
     {"idc__requests.sum"},
     COUNTER_EXACT,
     EXPECT_IDC_REQUESTS},
    {"idc_hits",
     "requests less misses: below zero where requests miss more than once",
     "requests",
     {"idc__requests_lookup_hit.sum"},
     COUNTER_MEASURED,
     0},
    {"idc_misses",
     "lookups of the indexed constant cache that missed, retries of a request counted",
     "lookups",
     {"idc__requests_lookup_miss.sum"},
     COUNTER_MEASURED,
     0},
    {"idc_misses_new",
     "misses whose line nobody had asked for yet",
     "lookups",
     {"idc__requests_lookup_miss_tag_miss.sum"},
     COUNTER_MEASURED,
     0},
    {"idc_misses_pending",
     "misses whose line was on its way",
     "lookups",
     {"idc__requests_lookup_miss_tag_hit.sum"},
     COUNTER_MEASURED,
     0},
    {"idc_misses_retried",
     "misses that found no free tag and were tried again",
     "lookups",
     {"idc__requests_lookup_miss_tag_unavailable.sum"},
     COUNTER_MEASURED,
     0},
    {"idc_active_cycles",
     "cycles the indexed constant caches worked on requests, all SMs",
     "cycles",
     {"idc__request_cycles_active.sum"},
     COUNTER_MEASURED,
     0},
    {"gcc_constant_requests",
     "constant requests to the caches of the GPCs",
     "requests",
     {"gcc__cache_requests_type_constant.sum"},
     COUNTER_MEASURED,
     0},
    {"gcc_constant_misses",
     "constant requests that missed in the caches of the GPCs",
     "requests",
     {"gcc__cache_requests_type_constant_lookup_miss.sum"},
     COUNTER_MEASURED,
     0},
    {"imc_requests",
     "requests to the immediate constant caches: constant operands and uniform loads",
     "requests",
     {"smsp__imc_requests.sum"},
     COUNTER_EXACT,
     EXPECT_IMC_REQUESTS},
    {"global_load_instructions",
     "LDG instructions executed, of input, payload and copies of the table",
     "warp instructions",
     {"smsp__inst_executed_op_global_ld.sum"},
     COUNTER_EXACT,
     EXPECT_GLOBAL_LOADS},
    {"l1_requests",
     "global load requests to the L1 data cache",
     "requests",
     {"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"},
     COUNTER_EXACT,
     EXPECT_L1_REQUESTS},
    {"l1_sectors",
     "32-byte sectors that global loads asked of the L1 data cache",
     "sectors",
     {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"},
     COUNTER_EXACT,
     EXPECT_L1_SECTORS},
    {"texture_instructions",
     "texture instructions executed",
     "warp instructions",
     {"smsp__inst_executed_op_texture.sum"},
     COUNTER_EXACT,
     EXPECT_TEXTURE_LOADS},
    {"shared_load_instructions",
     "LDS instructions executed, of payload and of a workload's tile, by one thread at least",
     "warp instructions",
     {"smsp__inst_executed_op_shared_ld_pred_on_any.sum"},
     COUNTER_EXACT,
     EXPECT_SHARED_LOADS},
    {"shared_wavefronts",
     "wavefronts in which shared memory answers them, waits for the copies included",
     "wavefronts",
     {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"},
     COUNTER_MEASURED,
     0},
    {"l2_sectors",
     "sectors that L2 handled, of everything on the device",
     "sectors",
     {"lts__t_sectors.sum"},
     COUNTER_MEASURED,
     0},
    {"dram_read_bytes",
     "bytes read from device memory",
     "bytes",
     {"dram__bytes_read.sum", "fbpa__dram_read_bytes.sum"},
     COUNTER_MEASURED,
     0},
    {"dram_write_bytes",
     "bytes written to device memory",
     "bytes",
     {"dram__bytes_write.sum", "fbpa__dram_write_bytes.sum"},
     COUNTER_MEASURED,
     0},
    {"instructions",
     "instructions executed",
     "warp instructions",
     {"smsp__inst_executed.sum"},
     COUNTER_EXACT,
     EXPECT_INSTRUCTIONS},
    {"sm_cycles",
     "cycles with a warp resident, busiest SM",
     "cycles",
     {"sm__cycles_active.max"},
     COUNTER_MEASURED,
     0},
};

const size_t counter_count = sizeof(counters) / sizeof(counters[0]);

static const struct table counter_table = TABLE("counter", counters, counter_count);

/* -- sets -------------------------------------------------------------------------------------- */

/* One word of the user's list: "default", "none", a name of the table, or a metric name of
 * CUPTI. */
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
                                                         .kind = COUNTER_MEASURED,
                                                         0};
    return STATUS_OK;
}

enum status counter_set_parse(const char *text, struct counter_set *out)
{
    /* A list of n bytes has at most n names in addition to those of "default". */
    struct counter_set set = {.counters =
                                  calloc(strlen(text) + 1 + counter_count, sizeof(*set.counters)),
                              .names = strdup(text)};
    enum status status =
        set.counters && set.names ? STATUS_OK : log_memory("the names of counters");

    if (status != STATUS_OK)
        goto out;
    for (char *rest = set.names, *name; (name = strsep(&rest, ","));) {
        status = set_add(&set, name);
        if (status != STATUS_OK)
            goto out;
    }
    *out = set;
    return STATUS_OK;
out:
    counter_set_close(&set);
    return status;
}

void counter_set_close(struct counter_set *set)
{
    free(set->counters);
    free(set->names);
    *set = (struct counter_set){0};
}

const struct counter_value *counter_find(const struct counter_value *values, size_t count,
                                         const char *name)
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
