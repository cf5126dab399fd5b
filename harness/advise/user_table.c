/* SPDX-License-Identifier: MIT
 * What the loads of a kernel say of each table, and the verdict on it. */
#include "user_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "estimate.h"
#include "log.h"
#include "memory.h"

/* Words of the document. */
static const char as_it_should_be[] = "as it should be", elsewhere[] = "faster elsewhere",
                  conflicts[] = "bank conflicts", cannot_tell[] = "cannot tell",
                  no_table[] = "no table";

/* -- the verdict ------------------------------------------------------------------------------- */

struct verdict {
    const char *verdict, *better, *why;
};

static bool lives_in(const struct user_table *table, const char *memory)
{
    return strcmp(table->load.memory, memory) == 0;
}

static bool is_constant(const struct user_table *table)
{
    return lives_in(table, "constant") || lives_in(table, "param");
}

/* The kernel copies it into shared memory, a load of its own for each thread. */
static bool is_copied(const struct user_table *table)
{
    return is_constant(table) && table->load.copied && table->load.variation >= VARIATION_AFFINE &&
           table->load.variation != VARIATION_DATA;
}

/* The user's indices stand for those of the loads, where they are not proven. */
static void assume_indices(struct user_table *table, const struct user_indices *indices)
{
    const enum variation varies = table->load.variation;
    const struct optional bytes = table->load.table_bytes;

    if (!is_constant(table) || !indices ||
        !(varies == VARIATION_DATA || (varies == VARIATION_THREAD && indices->of_threads)) ||
        (bytes.known && bytes.value != indices->table_bytes))
        return;
    table->assumed = true;
    table->addresses = indices->addresses;
    table->wavefronts = indices->wavefronts;
}

/* How long the constant unit is busy, over the shared one, with its interval. */
static void estimate_ratio(struct user_table *table, const struct card *card)
{
    const struct card_number cycles = card->number[CARD_CONSTANT_ADDRESS_CYCLES];
    const struct card_number rate = card->number[CARD_SHARED_WAVEFRONTS_PER_CYCLE];
    const struct card_number capacity = card->number[CARD_CONSTANT_L1_BYTES];
    const double ratio = table->addresses / table->wavefronts;

    if (!is_constant(table) || !table->indexed || is_copied(table))
        return;
    table->unit_time_ratio = ratio * cycles.value * rate.value;
    table->low = ratio * cycles.low * rate.low / TIME_MODEL_ERROR;
    /* Lines that the L1 constant cache misses come on top. */
    if (optional_number(table->load.table_bytes) <= capacity.low)
        table->high = ratio * cycles.high * rate.high * TIME_MODEL_ERROR;
}

/* A local array. */
static struct verdict judge_local(const struct user_table *table, const struct cubin_kernel *kernel)
{
    if (table->load.variation >= VARIATION_AFFINE && !kernel->local_written)
        return (struct verdict){elsewhere, "shared",
                                "an array of each thread's own, indexed at run time: if all "
                                "threads have the same, declare it outside of the kernel"};
    if (table->load.variation > VARIATION_CONSTANT)
        return (struct verdict){cannot_tell, NULL,
                                "an array of each thread's own, indexed at run time: registers "
                                "hold it if loops are unrolled in full"};
    return (struct verdict){cannot_tell, NULL,
                            "a spilled register, or an array of the thread's own"};
}

/* Constant memory, at several addresses of a warp. */
static struct verdict judge_serialized(const struct user_table *table)
{
    if (!(table->low > 1))
        return (struct verdict){cannot_tell, NULL,
                                "by the card, shared and constant memory are too close to call, or "
                                "not known"};
    if (table->assumed)
        return (struct verdict){elsewhere, "shared",
                                "each distinct address of a warp takes its own cycles; your "
                                "indices count"};
    return (struct verdict){elsewhere, "shared",
                            "each distinct address of a warp takes its own cycles"};
}

/* One address of a warp. */
static struct verdict judge_uniform(const struct user_table *table)
{
    if (!is_constant(table))
        return (struct verdict){as_it_should_be, NULL, "a warp has one address"};
    if (table->indexed)
        return (struct verdict){as_it_should_be, NULL,
                                "a warp has one address: nothing is serialized. Shared memory "
                                "would be faster only for a kernel that does little besides these "
                                "lookups"};
    return (struct verdict){as_it_should_be, NULL, "a warp has one address: nothing is serialized"};
}

/* An index that is not proven. */
static struct verdict judge_unknown(const struct user_table *table)
{
    static const struct unknown {
        const char *constant, *elsewhere; /* elsewhere, no indices can be given */
    } whys[VARIATION_COUNT] = {
        [VARIATION_DATA] = {"the index is data: give --source or --indices", "the index is data"},
        [VARIATION_THREAD] = {"thread and arguments decide the index, no data, but how is not "
                              "followed: give --pattern or --indices",
                              "thread and arguments decide the index, no data, but how is not "
                              "followed"},
        [VARIATION_UNKNOWN] = {"nothing is proven about the index",
                               "nothing is proven about the index"},
    };
    const struct unknown *row = &whys[table->load.variation];
    const char *why = is_constant(table) ? row->constant : row->elsewhere;

    return (struct verdict){cannot_tell, NULL, why ? why : "the stride is known at run time alone"};
}

static struct verdict judge(const struct user_table *table, const struct cubin_kernel *kernel)
{
    enum { BANK_BYTES = 4 };
    const enum variation varies = table->load.variation;
    const bool constant = is_constant(table), shared = lives_in(table, "shared");
    const uint32_t width = table->load.width_bytes;
    const bool apart = varies == VARIATION_AFFINE || varies == VARIATION_UNEVEN;

    if (is_copied(table))
        return (struct verdict){as_it_should_be, NULL,
                                "the kernel copies it into shared memory; in global memory, the "
                                "loads of the copy are not serialized"};
    if (lives_in(table, "local"))
        return judge_local(table, kernel);
    if (lives_in(table, "image"))
        return (struct verdict){no_table, NULL,
                                "an image: a texture of several dimensions, or filtered"};
    if (lives_in(table, "generic"))
        return (struct verdict){cannot_tell, NULL, "the pointer may lead to several memories"};
    if (constant && table->addresses > 1)
        return judge_serialized(table);
    if (varies < VARIATION_AFFINE || (constant && table->addresses == 1))
        return judge_uniform(table);
    if (shared && table->wavefronts > (width > BANK_BYTES ? width / BANK_BYTES : 1))
        return (struct verdict){conflicts, NULL,
                                "threads of a warp meet in a bank: pad the rows, or copy the "
                                "table"};
    if (apart && shared && !isnan(table->wavefronts))
        return (struct verdict){as_it_should_be, NULL, "the threads of a warp meet in no bank"};
    if (apart && !constant && !shared)
        return (struct verdict){as_it_should_be, NULL,
                                "threads read elements of their own: no case for constants"};
    return judge_unknown(table);
}

/* Sets the verdict of a table whose loads have been counted. */
static void set_verdict(struct user_table *table, const struct cubin_kernel *kernel,
                        const struct card *card, const struct user_indices *indices)
{
    struct verdict verdict;

    table->addresses /= table->loads;
    table->wavefronts /= table->loads;
    table->unit_time_ratio = table->low = table->high = NAN;
    assume_indices(table, indices);
    estimate_ratio(table, card);
    verdict = judge(table, kernel);
    table->verdict = verdict.verdict;
    table->better = verdict.better;
    table->why = verdict.why;
    table->gain = table->better ? table->unit_time_ratio : NAN;
}

/* -- the tables of a kernel -------------------------------------------------------------------- */

/* The table that a load reads, which may be a new one; NULL, logged, when out of memory. */
static struct user_table *table_of(struct cubin_kernel *kernel, const struct user_access *access)
{
    for (size_t t = 0; t < kernel->table_count; t++) {
        const struct user_access *load = &kernel->tables[t].load;

        if (strcmp(load->table, access->table) == 0 && strcmp(load->memory, access->memory) == 0)
            return &kernel->tables[t];
    }
    if (!memory_grow(&kernel->tables, kernel->table_count, sizeof(*kernel->tables))) {
        log_memory("the tables of %s", kernel->name);
        return NULL;
    }
    kernel->tables[kernel->table_count] = (struct user_table){0};
    return &kernel->tables[kernel->table_count++];
}

/* Counts a load of a table. The loads in the deepest loop count. Those of a copy count where there
 * are no others. Addresses and wavefronts are sums here. */
static void add_load(struct user_table *table, const struct user_access *access)
{
    const bool copied = table->load.copied;
    const int64_t deeper = access->copied == copied ? (int64_t)access->depth - table->load.depth
                           : copied                 ? 1
                                                    : -1;
    const bool first = table->count == 0 || deeper > 0;

    if (first)
        *table = (struct user_table){.load = *access, .count = table->count};
    table->count++;
    if (!first && deeper < 0)
        return;
    table->indexed |= strncmp(access->instruction, "LDC", strlen("LDC")) == 0 &&
                      strncmp(access->instruction, "LDCU", strlen("LDCU")) != 0;
    if (access->variation > table->load.variation)
        table->load.variation = access->variation;
    table->load.condition = access->condition ? access->condition : table->load.condition;
    table->addresses += optional_number(access->addresses);
    table->wavefronts += access->wavefronts;
    table->loads++;
}

static enum status judge_kernel(struct cubin_kernel *kernel, const struct card *card,
                                const struct user_indices *indices)
{
    for (size_t i = 0; i < kernel->access_count; i++) {
        struct user_table *table;

        if (strcmp(kernel->accesses[i].memory, "compiler") == 0)
            continue;
        table = table_of(kernel, &kernel->accesses[i]);
        if (!table)
            return STATUS_ENVIRONMENT;
        add_load(table, &kernel->accesses[i]);
    }
    for (size_t t = 0; t < kernel->table_count; t++)
        set_verdict(&kernel->tables[t], kernel, card, indices);
    return STATUS_OK;
}

enum status user_tables_judge(struct user_code *code, const struct card *card,
                              const struct user_indices *indices)
{
    for (size_t k = 0; k < code->count; k++) {
        const enum status status = judge_kernel(&code->kernels[k], card, indices);

        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

const struct user_access *user_code_largest(const struct user_code *code)
{
    const struct user_access *found = NULL;

    for (size_t k = 0; k < code->count; k++)
        for (size_t i = 0; i < code->kernels[k].access_count; i++) {
            const struct user_access *access = &code->kernels[k].accesses[i];

            const bool open = access->variation >= VARIATION_THREAD,
                       before = found && found->variation >= VARIATION_THREAD;

            if (strcmp(access->memory, "constant") == 0 && access->table_bytes.value > 0 &&
                (!found || open > before ||
                 (open == before && access->table_bytes.value > found->table_bytes.value)))
                found = access;
        }
    return found;
}

bool user_tables_gain(const struct user_code *code, double share)
{
    for (size_t k = 0; k < code->count; k++)
        for (size_t t = 0; t < code->kernels[k].table_count; t++)
            if (code->kernels[k].tables[t].better && code->kernels[k].tables[t].low > 1 + share)
                return true;
    return false;
}

/* -- output ------------------------------------------------------------------------------------ */

#define TABLE_OF(kind, name) .value = kind, .member = GRID_MEMBER(struct user_table, name)

static const struct grid_column columns[] = {
    {.key = "table", .heading = "table", TABLE_OF(grid_array, load.readable), .head = true},
    {.key = "memory", .heading = "in", TABLE_OF(grid_text, load.memory)},
    {.key = "table_bytes",
     .heading = "bytes",
     .format = text_count,
     TABLE_OF(grid_optional, load.table_bytes)},
    {.key = "addresses",
     .heading = "addresses a load",
     .format = text_tenths,
     TABLE_OF(grid_number, addresses)},
    {.key = "verdict", .heading = "verdict", TABLE_OF(grid_text, verdict)},
    {.key = "better", .heading = "better", TABLE_OF(grid_text, better)},
    {.key = "unit_time_ratio",
     .heading = "unit time",
     .format = text_ratio,
     TABLE_OF(grid_number, gain)},
    {.key = "why", .heading = "because", TABLE_OF(grid_text, why), .below = true},
};

static bool condition_note(const void *row, size_t index, char *out, size_t bytes)
{
    const struct user_table *table = row;

    snprintf(out, bytes, "%s", table->load.condition ? table->load.condition : "");
    return table->load.condition && index == 0;
}

enum status user_tables_print(FILE *stream, const struct cubin_kernel *kernel,
                              const struct print_style *look)
{
    const struct grid grid = {GRID_COLUMNS(columns), GRID_ROWS(kernel->tables, kernel->table_count),
                              .note = condition_note};

    if (kernel->table_count == 0)
        return STATUS_OK;
    fputs("\nshould each table live where it does? unit time: how long its unit is busy, over that "
          "of `better`\n",
          stream);
    return grid_print(stream, &grid, look);
}

static const struct field fields[] = {
    {FIELD(field_text, struct user_table, "table", load.table, NULLABLE)},
    {FIELD(field_reference, struct user_table, "memory", load.memory, REQUIRED)},
    {FIELD(field_optional, struct user_table, "table_bytes", load.table_bytes, NULLABLE)},
    {FIELD(field_uint32, struct user_table, "width_bytes", load.width_bytes, REQUIRED)},
    {FIELD(field_uint32, struct user_table, "count", count, REQUIRED)},
    {FIELD(field_uint32, struct user_table, "depth", load.depth, REQUIRED)},
    {FIELD(field_name, struct user_table, "variation", load.variation, REQUIRED),
     .names = &variation_names},
    {FIELD(field_number, struct user_table, "addresses", addresses, NULLABLE)},
    {FIELD(field_number, struct user_table, "wavefronts", wavefronts, NULLABLE)},
    {FIELD(field_bool, struct user_table, "assumed", assumed, REQUIRED)},
    {FIELD(field_reference, struct user_table, "verdict", verdict, REQUIRED)},
    {FIELD(field_reference, struct user_table, "better", better, NULLABLE)},
    {FIELD(field_number, struct user_table, "unit_time_ratio", unit_time_ratio, NULLABLE)},
    {FIELD(field_number, struct user_table, "low", low, NULLABLE)},
    {FIELD(field_number, struct user_table, "high", high, NULLABLE)},
    {FIELD(field_reference, struct user_table, "why", why, REQUIRED)},
    {FIELD(field_reference, struct user_table, "condition", load.condition, NULLABLE)},
};
const struct objects user_tables_list =
    OBJECTS_OF(fields, struct user_table, struct cubin_kernel, table_count);
