/* SPDX-License-Identifier: MIT
 * What the loads of a kernel say of each table, and the verdict on it. */
#include "user_table.h"

#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "memory.h"

/* Whether a load is of a table that is judged: not of one of the compiler. */
static bool is_judged(const struct user_access *access)
{
    return strcmp(access->memory, "compiler") != 0;
}

static bool is_same_table(const struct user_access *a, const struct user_access *b)
{
    return strcmp(a->table, b->table) == 0 && strcmp(a->memory, b->memory) == 0;
}

/* Judges the table of load `first`, which is the first of its loads. `loads` has room for all. */
static enum status judge_table(struct judge *judge, struct cubin_kernel *kernel, size_t first,
                               const struct user_access **loads)
{
    size_t count = 0;
    enum status status;

    for (size_t i = first; i < kernel->access_count; i++)
        if (is_same_table(&kernel->accesses[first], &kernel->accesses[i]))
            loads[count++] = &kernel->accesses[i];
    if (!memory_grow(&kernel->tables, kernel->table_count, sizeof(*kernel->tables)))
        return log_memory("the tables of %s", kernel->name);
    status = verdict_make(judge, kernel, loads, count, &kernel->tables[kernel->table_count]);
    kernel->table_count += status == STATUS_OK;
    return status;
}

static enum status judge_kernel(struct judge *judge, struct cubin_kernel *kernel)
{
    const struct user_access **loads = calloc(kernel->access_count + 1, sizeof(*loads));
    enum status status = loads ? STATUS_OK : log_memory("the tables of %s", kernel->name);

    for (size_t i = 0; status == STATUS_OK && i < kernel->access_count; i++) {
        bool known = !is_judged(&kernel->accesses[i]);

        for (size_t t = 0; t < kernel->table_count && !known; t++)
            known = is_same_table(&kernel->tables[t].load, &kernel->accesses[i]);
        if (!known)
            status = judge_table(judge, kernel, i, loads);
    }
    free(loads);
    return status;
}

enum status user_tables_judge(struct user_code *code, const struct card *card,
                              const struct user_indices *indices)
{
    struct judge judge = {.card = card, .indices = indices};
    enum status status = STATUS_OK;

    for (size_t k = 0; status == STATUS_OK && k < code->count; k++)
        status = judge_kernel(&judge, &code->kernels[k]);
    judge_close(&judge);
    return status;
}

const struct user_access *user_code_largest(const struct user_code *code, const char *memory)
{
    const struct user_access *found = NULL;

    for (size_t k = 0; k < code->count; k++)
        for (size_t i = 0; i < code->kernels[k].access_count; i++) {
            const struct user_access *access = &code->kernels[k].accesses[i];

            const bool open = access->variation >= VARIATION_THREAD,
                       before = found && found->variation >= VARIATION_THREAD;

            if (access->table_bytes.value > 0 && strcmp(access->memory, memory) == 0 &&
                (!found || open > before ||
                 (open == before && access->table_bytes.value > found->table_bytes.value)))
                found = access;
        }
    return found;
}

/* -- document ---------------------------------------------------------------------------------- */

static const struct field fields[] = {
    {FIELD(field_reference, struct user_table, "table", load.table, NULLABLE)},
    {FIELD(field_reference, struct user_table, "memory", load.memory, REQUIRED),
     .rules = "\"enum\": [\"constant\", \"param\", \"global\", \"shared\", \"local\", "
              "\"texture\", \"generic\", \"image\"]"},
    {FIELD(field_optional, struct user_table, "table_bytes", load.table_bytes, NULLABLE)},
    {FIELD(field_uint32, struct user_table, "width_bytes", load.width_bytes, REQUIRED)},
    {FIELD(field_uint32, struct user_table, "count", count, REQUIRED),
     .about = "of load instructions"},
    {FIELD(field_uint32, struct user_table, "depth", load.depth, REQUIRED)},
    {FIELD(field_name, struct user_table, "variation", load.variation, REQUIRED),
     .names = &variation_names, .about = VARIATION_ABOUT},
    {FIELD(field_number, struct user_table, "addresses", counts.addresses, NULLABLE),
     .about = "distinct, of a warp's load, in the mean of the loads that count"},
    {FIELD(field_number, struct user_table, "wavefronts", counts.wavefronts, NULLABLE),
     .about = "that shared memory takes for these addresses"},
    {FIELD(field_number, struct user_table, "wavefronts_least", wavefronts_least, NULLABLE),
     .about = "that loads of this width take at best"},
    {FIELD(field_number, struct user_table, "sectors", counts.sectors, NULLABLE),
     .about = "of 32 bytes that a load from global memory touches, the least over all begins of "
              "the table"},
    {FIELD(field_number, struct user_table, "sectors_least", sectors_least, NULLABLE),
     .about = "that hold the bytes which it reads"},
    {FIELD(field_number, struct user_table, "shuffle_cycles", cycles[SPACE_SHUFFLE], NULLABLE),
     .about = "of an SM for a warp's load, by the card, as all keys of this end; null: not known, "
              "or no room there"},
    {FIELD(field_number, struct user_table, "shared_cycles", cycles[SPACE_SHARED], NULLABLE)},
    {FIELD(field_number, struct user_table, "global_cycles", cycles[SPACE_GLOBAL], NULLABLE)},
    {FIELD(field_number, struct user_table, "constant_cycles", cycles[SPACE_CONSTANT], NULLABLE)},
    {FIELD(field_number, struct user_table, "texture_cycles", cycles[SPACE_TEXTURE], NULLABLE)},
    {FIELD(field_bool, struct user_table, "once", once, REQUIRED),
     .about = "each thread reads it once, outside of the loops in which the kernel works"},
    {FIELD(field_bool, struct user_table, "assumed", assumed, REQUIRED),
     .about = "the addresses are those of --source, --pattern or --indices"},
    {FIELD(field_reference, struct user_table, "verdict", verdict, REQUIRED),
     .rules = "\"enum\": [\"as it should be\", \"faster elsewhere\", \"bank conflicts\", "
              "\"uncoalesced\", \"depends\", \"cannot tell\", \"no table\"]"},
    {FIELD(field_reference, struct user_table, "better", better, NULLABLE),
     .about = "the path that takes the fewest cycles, or registers"},
    {FIELD(field_words, struct user_table, "close", close, REQUIRED),
     .about = "paths that the card does not tell from better"},
    {FIELD(field_number, struct user_table, "unit_time_ratio", unit_time_ratio, NULLABLE),
     .about = "how long the unit that answers the lookups is busy, over that of the space that "
              "takes the fewest cycles, by the card"},
    {FIELD(field_number, struct user_table, "low", low, NULLABLE),
     .about = "of the interval of unit_time_ratio, over all blocks of code"},
    {FIELD(field_number, struct user_table, "high", high, NULLABLE)},
    {FIELD(field_text, struct user_table, "why", why, REQUIRED)},
    {FIELD(field_reference, struct user_table, "condition", load.condition, NULLABLE)},
};
const struct objects user_tables_list =
    OBJECTS_OF(fields, struct user_table, struct cubin_kernel, table_count);
