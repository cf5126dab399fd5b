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

static const struct optional unknown;

/* How often the instructions of a member of struct sass_stretch are executed by code that is known.
 * Every warp executes those before the guard, warps with an element those after it, and each warp
 * those in loops once for every element. */
static uint64_t executed(const struct expectation *e, size_t member)
{
    const struct sass_counts *code = e->sass;
    const uint64_t launched = e->access->warps_launched, active = e->access->warps_active;
    const uint64_t groups = code->group.instructions
                                ? active * workload_groups(e->cell->workload, e->cell->parameters)
                                : 0;
    const struct {
        const struct sass_stretch *stretch;
        uint64_t times;
    } parts[] = {{&code->prologue, launched},
                 {&code->body, launched < active ? launched : active},
                 {&code->round, active},
                 {&code->group, groups}};
    uint64_t sum = 0;

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        sum += parts[i].times * *(const uint32_t *)((const char *)parts[i].stretch + member);
    return sum;
}

/* Bytes of a payload load. Selections read no memory. */
static uint32_t payload_width(const struct cell *cell)
{
    const uint32_t width = table_width(cell->parameters);

    return cell->path->unit == UNIT_SELECT ? width : width / payload_pieces(cell);
}

/* Loads past L1 also go through its front. */
static bool is_global(const struct cell *cell)
{
    return cell->path->unit == UNIT_L1 || cell->path->unit == UNIT_L2;
}

/* Global loads except those of the input. */
static uint64_t table_loads(const struct expectation *e)
{
    return e->access->staging_loads + (is_global(e->cell) ? e->access->payload_loads : 0);
}

/* Without a GPU, the requests of L1 for wide loads are not known. The loads that copy a table are
 * wide where the path holds small tables. */
static bool l1_is_known(const struct cell *cell)
{
    if (is_global(cell))
        return payload_width(cell) <= sizeof(uint32_t);
    return table_width(cell->parameters) <= sizeof(uint32_t) || !path_is_small(cell->path);
}

static struct optional expect_ldc(const struct expectation *e)
{
    return e->sass ? optional_of(executed(e, offsetof(struct sass_stretch, ldc_parameter)) +
                                 executed(e, offsetof(struct sass_stretch, ldc_user)))
                   : unknown;
}

/* One request for each distinct address of a payload load, also of one from parameters. One for
 * each other LDC, since all of its threads have one address. Requests for addresses that are not
 * words are not known. */
static struct optional expect_idc_requests(const struct expectation *e)
{
    const bool indexed = e->cell->path->unit == UNIT_IDC;
    uint64_t requests;

    if (!e->sass || (indexed && payload_width(e->cell) != sizeof(uint32_t)))
        return unknown;
    requests = executed(e, offsetof(struct sass_stretch, ldc_parameter));
    requests += indexed ? e->access->addresses : 0;
    return optional_of(requests -
                       (e->cell->path->home == TABLE_PARAMETER ? e->access->payload_loads : 0));
}

/* Hopper sends each uniform constant load to the immediate constant cache. This was counted on an
 * H200 and is not known elsewhere. Requests of constant operands are not known. */
static struct optional expect_imc_requests(const struct expectation *e)
{
    const enum load_unit unit = e->cell->path->unit;

    if (!e->sass || e->sass->architecture != 90 || unit == UNIT_IMC ||
        (unit == UNIT_UNIFORM && payload_width(e->cell) != sizeof(uint32_t)))
        return unknown;
    return optional_of(executed(e, offsetof(struct sass_stretch, uniform_constant)));
}

/* A load with no active thread, around the edges of an image, is executed all the same. Where only
 * some warps of a block load its halo, the code decides whether the others go around those
 * loads. */
static struct optional expect_global_loads(const struct expectation *e)
{
    const bool halo = workload_has_halo(e->cell->workload);
    const uint64_t warps = halo ? e->access->warps_launched : e->access->warps_active;

    if (halo && e->cell->block_size > CBANK_WARP_THREADS)
        return unknown;
    return optional_of(warps * workload_input_loads(e->cell->workload, e->cell->parameters) +
                       table_loads(e));
}

/* None for a load with no active thread. */
static struct optional expect_l1_requests(const struct expectation *e)
{
    return l1_is_known(e->cell) ? optional_of(e->access->stream_loads + table_loads(e)) : unknown;
}

static struct optional expect_l1_sectors(const struct expectation *e)
{
    const struct access_counts *access = e->access;

    return l1_is_known(e->cell) ? optional_of(access->stream_sectors + access->staging_sectors +
                                              (is_global(e->cell) ? access->sectors : 0))
                                : unknown;
}

static struct optional expect_texture_loads(const struct expectation *e)
{
    return optional_of(e->cell->path->unit == UNIT_TEXTURE ? e->access->payload_loads : 0);
}

static struct optional expect_shared_loads(const struct expectation *e)
{
    const struct access_counts *access = e->access;

    return optional_of(access->warps_active *
                           workload_tile_loads(e->cell->workload, e->cell->parameters) +
                       (e->cell->path->unit == UNIT_SHARED ? access->payload_loads : 0));
}

/* Where only some threads of a warp take part in its last round, the others leave the loop first.
 * The code after the loop is then executed twice. */
static struct optional expect_instructions(const struct expectation *e)
{
    const bool rounds = e->access->warps_active > e->access->warps_launched;

    if (!e->sass || (rounds && e->cell->elements % CBANK_WARP_THREADS))
        return unknown;
    return optional_of(executed(e, offsetof(struct sass_stretch, instructions)));
}

struct optional counter_expected(const struct counter *counter, const struct expectation *e)
{
    /* Nothing is known of a launch of unknown blocks. */
    return counter->expect && cell_blocks(e->cell) > 0 ? counter->expect(e) : unknown;
}

/* -- the table --------------------------------------------------------------------------------- */

/* name, summary, unit, metrics, kind, expect */
const struct counter counters[] = {
    {"ldc_instructions",
     "LDC instructions executed, of payload and parameters",
     "warp instructions",
     {"smsp__inst_executed_op_ldc.sum"},
     COUNTER_EXACT,
     expect_ldc},
    {"idc_requests",
     "requests to the indexed constant cache: one per distinct address of a load",
     "requests",
     {"idc__requests.sum"},
     COUNTER_EXACT,
     expect_idc_requests},
    {"idc_hits",
     "requests less misses: below zero where requests miss more than once",
     "requests",
     {"idc__requests_lookup_hit.sum"},
     COUNTER_MEASURED,
     NULL},
    {"idc_misses",
     "lookups of the indexed constant cache that missed, retries of a request counted",
     "lookups",
     {"idc__requests_lookup_miss.sum"},
     COUNTER_MEASURED,
     NULL},
    {"idc_misses_new",
     "misses whose line nobody had asked for yet",
     "lookups",
     {"idc__requests_lookup_miss_tag_miss.sum"},
     COUNTER_MEASURED,
     NULL},
    {"idc_misses_pending",
     "misses whose line was on its way",
     "lookups",
     {"idc__requests_lookup_miss_tag_hit.sum"},
     COUNTER_MEASURED,
     NULL},
    {"idc_misses_retried",
     "misses that found no free tag and were tried again",
     "lookups",
     {"idc__requests_lookup_miss_tag_unavailable.sum"},
     COUNTER_MEASURED,
     NULL},
    {"idc_active_cycles",
     "cycles the indexed constant caches worked on requests, all SMs",
     "cycles",
     {"idc__request_cycles_active.sum"},
     COUNTER_MEASURED,
     NULL},
    {"gcc_constant_requests",
     "constant requests to the caches of the GPCs",
     "requests",
     {"gcc__cache_requests_type_constant.sum"},
     COUNTER_MEASURED,
     NULL},
    {"gcc_constant_misses",
     "constant requests that missed in the caches of the GPCs",
     "requests",
     {"gcc__cache_requests_type_constant_lookup_miss.sum"},
     COUNTER_MEASURED,
     NULL},
    {"imc_requests",
     "requests to the immediate constant caches: constant operands and uniform loads",
     "requests",
     {"smsp__imc_requests.sum"},
     COUNTER_EXACT,
     expect_imc_requests},
    {"global_load_instructions",
     "LDG instructions executed, of input, payload and copies of the table",
     "warp instructions",
     {"smsp__inst_executed_op_global_ld.sum"},
     COUNTER_EXACT,
     expect_global_loads},
    {"l1_requests",
     "global load requests to the L1 data cache",
     "requests",
     {"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"},
     COUNTER_EXACT,
     expect_l1_requests},
    {"l1_sectors",
     "32-byte sectors that global loads asked of the L1 data cache",
     "sectors",
     {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"},
     COUNTER_EXACT,
     expect_l1_sectors},
    {"texture_instructions",
     "texture instructions executed",
     "warp instructions",
     {"smsp__inst_executed_op_texture.sum"},
     COUNTER_EXACT,
     expect_texture_loads},
    {"shared_load_instructions",
     "LDS instructions executed, of payload and of a workload's tile, by one thread at least",
     "warp instructions",
     {"smsp__inst_executed_op_shared_ld_pred_on_any.sum"},
     COUNTER_EXACT,
     expect_shared_loads},
    {"shared_wavefronts",
     "wavefronts in which shared memory answers them, waits for the copies included",
     "wavefronts",
     {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"},
     COUNTER_MEASURED,
     NULL},
    {"l2_sectors",
     "sectors that L2 handled, of everything on the device",
     "sectors",
     {"lts__t_sectors.sum"},
     COUNTER_MEASURED,
     NULL},
    {"dram_read_bytes",
     "bytes read from device memory",
     "bytes",
     {"dram__bytes_read.sum", "fbpa__dram_read_bytes.sum"},
     COUNTER_MEASURED,
     NULL},
    {"dram_write_bytes",
     "bytes written to device memory",
     "bytes",
     {"dram__bytes_write.sum", "fbpa__dram_write_bytes.sum"},
     COUNTER_MEASURED,
     NULL},
    {"instructions",
     "instructions executed",
     "warp instructions",
     {"smsp__inst_executed.sum"},
     COUNTER_EXACT,
     expect_instructions},
    {"sm_cycles",
     "cycles with a warp resident, busiest SM",
     "cycles",
     {"sm__cycles_active.max"},
     COUNTER_MEASURED,
     NULL},
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
                                                         .kind = COUNTER_MEASURED};
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
    return value->status == COUNTER_OK && value->kind == COUNTER_EXACT && value->expected.known &&
           value->value != (double)value->expected.value;
}
