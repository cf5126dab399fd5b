/* SPDX-License-Identifier: MIT */
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

/* Sets the verdict of a table whose loads have been counted. */
static void judge(struct user_table *table, const struct cubin_kernel *kernel,
                  const struct card *card, const struct user_indices *indices)
{
    const enum variation varies = table->of.variation;
    const bool constant =
        strcmp(table->of.memory, "constant") == 0 || strcmp(table->of.memory, "param") == 0;
    const bool shared = strcmp(table->of.memory, "shared") == 0;
    const struct card_number cycles = card->number[CARD_constant_address_cycles];
    const struct card_number rate = card->number[CARD_shared_wavefronts_per_cycle];
    const struct card_number capacity = card->number[CARD_constant_l1_bytes];
    double ratio;

    table->unit_time_ratio = table->low = table->high = NAN;
    if (constant && indices &&
        (varies == VARIATION_DATA || (varies == VARIATION_THREAD && indices->of_threads)) &&
        (!table->of.table_bytes.known || table->of.table_bytes.value == indices->table_bytes)) {
        table->assumed = true;
        table->addresses = indices->addresses;
        table->wavefronts = indices->wavefronts;
    }
    if (constant && table->of.copied && varies >= VARIATION_AFFINE && varies != VARIATION_DATA) {
        table->verdict = as_it_should_be;
        table->why = "the kernel copies it into shared memory; in global memory, the loads of the "
                     "copy are not serialized";
        return;
    }
    ratio = table->addresses / table->wavefronts;
    if (constant && table->indexed) {
        table->unit_time_ratio = ratio * cycles.value * rate.value;
        table->low = ratio * cycles.low * rate.low / TIME_MODEL_ERROR;
        /* Lines that the L1 constant cache misses come on top. */
        table->high = optional_number(table->of.table_bytes) <= capacity.low
                          ? ratio * cycles.high * rate.high * TIME_MODEL_ERROR
                          : NAN;
    }
    if (strcmp(table->of.memory, "local") == 0) {
        const bool indexed = varies >= VARIATION_AFFINE && !kernel->local_written;

        table->verdict = indexed ? elsewhere : cannot_tell;
        table->better = indexed ? "shared" : NULL;
        table->why = indexed ? "an array of each thread's own, indexed at run time: if all threads "
                               "have the same, "
                               "declare it outside of the kernel"
                     : varies > VARIATION_CONSTANT
                         ? "an array of each thread's own, indexed at run time: registers hold it "
                           "if loops are "
                           "unrolled in full"
                         : "a spilled register, or an array of the thread's own";
    } else if (strcmp(table->of.memory, "image") == 0) {
        table->verdict = no_table;
        table->why = "an image: a texture of several dimensions, or filtered";
    } else if (strcmp(table->of.memory, "generic") == 0) {
        table->verdict = cannot_tell;
        table->why = "the pointer may lead to several memories";
    } else if (constant && table->addresses > 1) {
        table->verdict = table->low > 1 ? elsewhere : cannot_tell;
        table->better = table->low > 1 ? "shared" : NULL;
        table->why =
            !(table->low > 1)
                ? "by the card, shared and constant memory are too close to call, or not known"
            : table->assumed
                ? "each distinct address of a warp takes its own cycles; your indices count"
                : "each distinct address of a warp takes its own cycles";
    } else if (varies < VARIATION_AFFINE || (constant && table->addresses == 1)) {
        table->verdict = as_it_should_be;
        table->why = !constant        ? "a warp has one address"
                     : table->indexed ? "a warp has one address: nothing is serialized. Shared "
                                        "memory would be faster only for a "
                                        "kernel that does little besides these lookups"
                                      : "a warp has one address: nothing is serialized";
    } else if (shared &&
               table->wavefronts > (table->of.width_bytes > 4 ? table->of.width_bytes / 4 : 1)) {
        table->verdict = conflicts;
        table->why = "threads of a warp meet in a bank: pad the rows, or copy the table";
    } else if ((varies == VARIATION_AFFINE || varies == VARIATION_UNEVEN) && !constant &&
               (!shared || !isnan(table->wavefronts))) {
        table->verdict = as_it_should_be;
        table->why = shared ? "the threads of a warp meet in no bank"
                            : "threads read elements of their own: no case for constants";
    } else {
        table->verdict = cannot_tell;
        table->why = varies == VARIATION_DATA && constant
                         ? "the index is data: give --source or --indices"
                     : varies == VARIATION_DATA ? "the index is data"
                     : varies == VARIATION_THREAD && constant
                         ? "thread and arguments decide the index, no data, but how is not "
                           "followed: give --pattern or --indices"
                     : varies == VARIATION_THREAD
                         ? "thread and arguments decide the index, no data, but how is not followed"
                     : varies == VARIATION_UNKNOWN ? "nothing is proven about the index"
                                                   : "the stride is known at run time alone";
    }
}

/* -- tables ------------------------------------------------------------------------------------ */

enum status user_tables_judge(struct user_code *code, const struct card *card,
                              const struct user_indices *indices)
{
    for (size_t k = 0; k < code->count; k++) {
        struct cubin_kernel *kernel = &code->kernels[k];

        for (size_t i = 0; i < kernel->access_count; i++) {
            const struct user_access *access = &kernel->accesses[i];
            struct user_table *table;
            size_t t = 0;
            int64_t more;

            if (strcmp(access->memory, "compiler") == 0)
                continue;
            while (t < kernel->table_count &&
                   (strcmp(kernel->tables[t].of.table, access->table) != 0 ||
                    strcmp(kernel->tables[t].of.memory, access->memory) != 0))
                t++;
            if (t == kernel->table_count) {
                if (!memory_grow(&kernel->tables, kernel->table_count, sizeof(*kernel->tables)))
                    return log_memory("the tables of %s", kernel->name);
                kernel->tables[kernel->table_count++] = (struct user_table){0};
            }
            table = &kernel->tables[t];
            /* The loads in the deepest loop count. Those of a copy count where there are no
             * others. */
            more = access->copied == table->of.copied ? (int64_t)access->depth - table->of.depth
                   : table->of.copied                 ? 1
                                                      : -1;
            if (table->count == 0 || more > 0) {
                more = 0;
                *table = (struct user_table){.of = *access, .count = table->count};
            }
            table->count++;
            if (more < 0)
                continue;
            table->indexed |= strncmp(access->instruction, "LDC", strlen("LDC")) == 0 &&
                              strncmp(access->instruction, "LDCU", strlen("LDCU")) != 0;
            if (access->variation > table->of.variation)
                table->of.variation = access->variation;
            table->of.condition = access->condition ? access->condition : table->of.condition;
            /* Sums here; the mean at the end. */
            table->addresses += optional_number(access->addresses);
            table->wavefronts += access->wavefronts;
            table->loads++;
        }
        for (size_t t = 0; t < kernel->table_count; t++) {
            struct user_table *table = &kernel->tables[t];

            table->addresses /= table->loads;
            table->wavefronts /= table->loads;
            judge(table, kernel, card, indices);
            table->gain = table->better ? table->unit_time_ratio : NAN;
        }
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

#define TABLE_OF(kind, member) .value = kind, .of = GRID_MEMBER(struct user_table, member)

static const struct grid_column columns[] = {
    {.key = "table", .heading = "table", TABLE_OF(grid_array, of.readable), .head = true},
    {.key = "memory", .heading = "in", TABLE_OF(grid_text, of.memory)},
    {.key = "table_bytes",
     .heading = "bytes",
     .format = text_count,
     TABLE_OF(grid_optional, of.table_bytes)},
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

    snprintf(out, bytes, "%s", table->of.condition ? table->of.condition : "");
    return table->of.condition && index == 0;
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
    {FIELD(field_text, struct user_table, "table", of.table, NULLABLE)},
    {FIELD(field_reference, struct user_table, "memory", of.memory, REQUIRED)},
    {FIELD(field_optional, struct user_table, "table_bytes", of.table_bytes, NULLABLE)},
    {FIELD(field_uint32, struct user_table, "width_bytes", of.width_bytes, REQUIRED)},
    {FIELD(field_uint32, struct user_table, "count", count, REQUIRED)},
    {FIELD(field_uint32, struct user_table, "depth", of.depth, REQUIRED)},
    {FIELD(field_name, struct user_table, "variation", of.variation, REQUIRED),
     .of = &variation_names},
    {FIELD(field_number, struct user_table, "addresses", addresses, NULLABLE)},
    {FIELD(field_number, struct user_table, "wavefronts", wavefronts, NULLABLE)},
    {FIELD(field_bool, struct user_table, "assumed", assumed, REQUIRED)},
    {FIELD(field_reference, struct user_table, "verdict", verdict, REQUIRED)},
    {FIELD(field_reference, struct user_table, "better", better, NULLABLE)},
    {FIELD(field_number, struct user_table, "unit_time_ratio", unit_time_ratio, NULLABLE)},
    {FIELD(field_number, struct user_table, "low", low, NULLABLE)},
    {FIELD(field_number, struct user_table, "high", high, NULLABLE)},
    {FIELD(field_reference, struct user_table, "why", why, REQUIRED)},
    {FIELD(field_reference, struct user_table, "condition", of.condition, NULLABLE)},
};
const struct objects user_tables_list =
    OBJECTS_OF(fields, struct user_table, struct cubin_kernel, table_count);
