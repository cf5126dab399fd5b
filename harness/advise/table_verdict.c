/* SPDX-License-Identifier: MIT
 * Verdicts on tables: see table_verdict.h. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "estimate.h"
#include "table_parts.h"
#include "text.h"

/* Words of the document. */
static const char as_it_should_be[] = "as it should be", elsewhere[] = "faster elsewhere",
                  conflicts[] = "bank conflicts", uncoalesced[] = "uncoalesced",
                  depends[] = "depends", cannot_tell[] = "cannot tell", no_table[] = "no table";

static const struct memory_row memory_rows[] = {
    {"constant", SPACE_CONSTANT, "address", cannot_tell},
    {"param", SPACE_CONSTANT, "address", cannot_tell},
    {"shared", SPACE_SHARED, "wavefront", conflicts},
    {"global", SPACE_GLOBAL, "sector", uncoalesced},
    {"texture", SPACE_TEXTURE, "wavefront", cannot_tell},
};

/* -- words ------------------------------------------------------------------------------------- */

#define WHY(work_, ...) text_join((work_)->table->why, sizeof((work_)->table->why), "", __VA_ARGS__)

/* "32 addresses" */
static void say_taken(struct work *work, double taken)
{
    const char *unit = work->memory->space == SPACE_GLOBAL && work->table->assumed
                           ? "wavefront"
                           : work->memory->unit;
    const size_t length = strlen(unit);

    WHY(work, "%.3g %s%s", taken, unit, taken == 1 ? "" : unit[length - 1] == 's' ? "es" : "s");
}

/* What a load takes, in the mean. */
static void say_load(struct work *work)
{
    WHY(work, "%sa load of a warp takes ", work->table->assumed ? "by your indices, " : "");
    say_taken(work, work->all.taken / work->all.loads);
}

/* "line 9", or the place in the code. */
static void say_place(struct work *work, const struct user_access *load)
{
    if (load->line.known)
        WHY(work, "line %" PRIu64, load->line.value);
    else
        WHY(work, "0x%" PRIx32, load->address);
}

/* Why an index that decides is not known, and what helps. */
static void say_open(struct work *work)
{
    static const char *const whys[VARIATION_COUNT] = {
        [VARIATION_DATA] = "the index is data",
        [VARIATION_THREAD] =
            "thread and arguments decide the index, no data, but how is not followed",
        [VARIATION_UNKNOWN] = "nothing is proven about the index",
    };
    const struct user_access *load = work->open;
    const char *why = whys[load->variation];
    const char *size = load->table_bytes.known ? "" : ", and --table-bytes";

    if (load->addresses.known) {
        WHY(work, "how many threads of a warp meet in a bank depends on where their entries begin");
        return;
    }
    WHY(work, "%s", why ? why : "the stride is known at run time alone");
    if (load->variation == VARIATION_UNKNOWN && load->reason)
        WHY(work, ": %s", load->reason);
    if (work_may_describe(work, load) && work->reason[0])
        WHY(work, "; %s", work->reason);
    else if (load->variation == VARIATION_DATA)
        WHY(work, ": give --source or --indices%s", size);
    else if (load->variation == VARIATION_THREAD)
        WHY(work, ": give --pattern or --indices%s", size);
}

/* What a load takes, and why that is as it should be. */
static void say_fine(struct work *work)
{
    struct user_table *table = work->table;
    const bool uniform = table->counts.addresses == 1;
    const bool passed_on =
        work_is_constant(work) && work->all.taken > work->all.loads * TIME_MODEL_ERROR;

    if (table->once)
        WHY(work, "each thread reads it once, outside of the loops in which the kernel works");
    else if (passed_on)
        WHY(work, "each thread reads it once, and passes it on by a shuffle");
    else if (work_is_constant(work) && uniform)
        WHY(work, table->indexed ? "a warp has one address: nothing is serialized. Shared memory "
                                   "would be faster only for a kernel that does little besides "
                                   "these lookups"
                                 : "a warp has one address: nothing is serialized");
    else if (uniform)
        WHY(work, "a warp has one address");
    else if (work->memory->space == SPACE_SHARED && !table->assumed)
        WHY(work, "the threads of a warp meet in no bank");
    else if (work->memory->space == SPACE_GLOBAL && !table->assumed)
        WHY(work, "a load of a warp takes the fewest sectors that hold what it reads");
    else
        say_load(work);
    if (table->assumed && work->all.taken > work->all.least * TIME_MODEL_ERROR)
        WHY(work, ", and no memory space is told to take less time");
    if (work->differ)
        WHY(work, "; what each thread reads once, outside of loops, does not count");
}

/* The cycles of the table's memory and of the better one. */
static void say_gain(struct work *work)
{
    const double loads = work->all.loads;

    WHY(work, ": %.3g cycles; %.3g in %s", work->all.cycles[work->memory->space].value / loads,
        work->all.cycles[work->better].value / loads, space_rows[work->better].path);
    if (space_rows[work->better].copied)
        WHY(work, work->in_loops || work->has_copy ? ", once it is copied there"
                                                   : ", with the copy to there");
    if (work->table->close[0])
        WHY(work, "; too close to call: %s", work->table->close);
}

/* "line 9, 32 addresses of a warp's load where 1 would do" */
static void say_against_best(struct work *work, const struct user_access *load, double taken,
                             double best)
{
    say_place(work, load);
    WHY(work, ", ");
    say_taken(work, taken);
    WHY(work, " of a warp's load where %.3g would do", best);
}

/* How the worst of the loads and the best of them differ. */
static void say_depends(struct work *work)
{
    WHY(work, "it depends on which loads run most: ");
    say_against_best(work, work->most, work->most_taken, work->most_best);
    if (work->blocks[STATE_FINE] > 0) {
        WHY(work, "; ");
        say_against_best(work, work->least, work->least_taken, work->least_best);
    }
    if (work->blocks[STATE_OPEN] > 0) {
        WHY(work, "; ");
        say_place(work, work->open);
        WHY(work, ": ");
        say_open(work);
    }
}

/* -- the verdict ------------------------------------------------------------------------------- */

/* Fills what the table has of all loads that count. */
static void write_counts(struct work *work)
{
    struct user_table *table = work->table;
    const struct sums *all = &work->all;
    const double loads = all->loads;
    const struct card_number capacity = work->judge->card->number[CARD_CONSTANT_L1_BYTES];

    table->counts =
        (struct warp_counts){all->counts.addresses / loads, all->counts.wavefronts / loads,
                             all->counts.tag_wavefronts / loads, all->counts.sectors / loads};
    table->sectors_least = all->sectors_least / loads;
    table->wavefronts_least = all->wavefronts_least / loads;
    for (int space = 0; space < SPACES; space++)
        table->cycles[space] =
            (enum space)space == work->memory->space || work_may_hold(work, (enum space)space)
                ? all->cycles[space].value / loads
                : NAN;
    if (work->better == SPACES || table->load.copied || (work_is_constant(work) && !table->indexed))
        return;
    table->unit_time_ratio =
        all->cycles[work->memory->space].value / all->cycles[work->better].value;
    table->low = work->low / TIME_MODEL_ERROR;
    /* Lines that the L1 constant cache misses come on top. */
    if (!work_is_constant(work) || optional_number(table->load.table_bytes) <= capacity.low)
        table->high = work->high * TIME_MODEL_ERROR;
}

/* Names the better space, and those that the card does not tell from it. */
static void write_better(struct work *work)
{
    struct user_table *table = work->table;
    const struct cycles *cycles = work->all.cycles;

    table->better = space_rows[work->better].path;
    for (int space = 0; space < SPACES; space++)
        if ((enum space)space != work->better && work_may_hold(work, (enum space)space) &&
            !isnan(cycles[space].value) && !cycles_are_below(&cycles[work->better], &cycles[space]))
            text_join(table->close, sizeof(table->close), " ", "%s", space_rows[space].path);
}

/* All blocks are worse than at best, and no other space is told to take less. */
static void judge_worse(struct work *work)
{
    struct user_table *table = work->table;

    table->verdict = work->memory->worse;
    if (table->verdict == conflicts) {
        WHY(work,
            "threads of a warp meet in a bank: a load takes %.3g wavefronts where %.3g would do; "
            "pad the rows, or copy the table",
            table->counts.wavefronts, table->wavefronts_least);
    } else if (table->verdict == uncoalesced) {
        WHY(work,
            "a load of a warp takes %.3g sectors where %.3g would hold what it reads: let "
            "neighbouring threads read neighbouring entries",
            table->counts.sectors, table->sectors_least);
    } else {
        say_load(work);
        WHY(work, "; by the card, other memory spaces are too close to call, or not known");
    }
}

/* All blocks are worse than at best, and another space takes less. */
static void judge_gain(struct work *work)
{
    struct user_table *table = work->table;

    write_better(work);
    table->verdict = elsewhere;
    table->gain = table->unit_time_ratio;
    if (work->memory->space == SPACE_GLOBAL) {
        /* There it has no copy yet, which takes time. */
        table->verdict = table->assumed ? depends : uncoalesced;
        table->gain = NAN;
    }
    if (table->verdict == depends)
        WHY(work, "it depends on how often a block reads it: ");
    say_load(work);
    if (table->verdict == uncoalesced)
        WHY(work, " where %.3g would hold what it reads", table->sectors_least);
    say_gain(work);
}

/* The verdict by the states of the blocks. */
static void combine_blocks(struct work *work)
{
    struct user_table *table = work->table;
    const uint32_t worse = work->blocks[STATE_WORSE], open = work->blocks[STATE_OPEN],
                   fine = work->blocks[STATE_FINE];

    if (table->once || worse + open == 0) {
        table->verdict = as_it_should_be;
        say_fine(work);
    } else if (worse > 0 && fine + open > 0) {
        table->verdict = depends;
        if (work->gains > 0)
            write_better(work);
        say_depends(work);
    } else if (open > 0) {
        table->verdict = cannot_tell;
        say_open(work);
    } else if (work->gains == worse) {
        judge_gain(work);
    } else {
        judge_worse(work);
    }
}

/* Local memory: what the kernel stores there says whether all threads could share it. */
static void judge_local(struct work *work)
{
    struct user_table *table = work->table;
    const enum local_content content =
        work->kernel->local_written ? LOCAL_OWN : work->kernel->local_content;

    table->verdict = cannot_tell;
    if (table->load.variation <= VARIATION_CONSTANT) {
        WHY(work, "a spilled register, or an array of the thread's own");
    } else if (content == LOCAL_NUMBERS) {
        table->verdict = elsewhere;
        table->better = table->load.variation < VARIATION_AFFINE ? "constant" : "global";
        WHY(work,
            "each thread stores the same numbers there, which the code has: declare the array "
            "%s",
            table->load.variation < VARIATION_AFFINE ? "__constant__" : "static const");
    } else if (content == LOCAL_PARAMETER && table->load.variation < VARIATION_AFFINE) {
        table->verdict = elsewhere;
        table->better = "param";
        WHY(work, "each thread copies a parameter there: declare it const __grid_constant__");
    } else if (work->kernel->local_written) {
        WHY(work, "an array that each thread writes, at an index that is known at run time alone");
    } else if (table->load.variation >= VARIATION_AFFINE) {
        WHY(work,
            "an array of each thread's own, indexed at run time: if all threads have the same "
            "entries, declare it outside of the kernel");
    } else {
        table->verdict = depends;
        table->better = "registers";
        WHY(work,
            "it depends on whether the loops that index it can be unrolled in full: registers "
            "then hold the array of each thread, and no load is left");
    }
}

/* Memory whose loads have no cost that is counted. */
static void judge_other(struct work *work)
{
    struct user_table *table = work->table;
    double addresses = 0;

    for (size_t i = 0; i < work->count; i++)
        addresses += work->loads[i]->counts.addresses;
    table->counts.addresses = addresses / (double)work->count;
    if (strcmp(table->load.memory, "local") == 0) {
        judge_local(work);
        return;
    }
    table->verdict = strcmp(table->load.memory, "image") == 0 ? no_table : cannot_tell;
    WHY(work, table->verdict == no_table ? "an image: a texture of several dimensions, or filtered"
                                         : "the pointer may lead to several memories");
}

enum status verdict_make(struct judge *judge, const struct cubin_kernel *kernel,
                         const struct user_access *const *loads, size_t count,
                         struct user_table *table)
{
    struct work work = {.judge = judge,
                        .kernel = kernel,
                        .loads = loads,
                        .count = count,
                        .table = table,
                        .better = SPACES};
    enum status status;

    *table = (struct user_table){.count = (uint32_t)count,
                                 .counts = {NAN, NAN, NAN, NAN},
                                 .sectors_least = NAN,
                                 .wavefronts_least = NAN,
                                 .unit_time_ratio = NAN,
                                 .low = NAN,
                                 .high = NAN,
                                 .gain = NAN};
    for (int space = 0; space < SPACES; space++)
        table->cycles[space] = NAN;
    for (size_t i = 0; i < sizeof(memory_rows) / sizeof(memory_rows[0]); i++)
        if (strcmp(memory_rows[i].memory, loads[0]->memory) == 0)
            work.memory = &memory_rows[i];
    status = work_judge_blocks(&work);
    if (status != STATUS_OK)
        return status;
    if (!work.memory) {
        judge_other(&work);
        return STATUS_OK;
    }
    write_counts(&work);
    if (table->load.copied) {
        table->verdict = as_it_should_be;
        WHY(&work, "the kernel copies it into shared memory; in global memory, the loads of the "
                   "copy are not serialized");
        return STATUS_OK;
    }
    combine_blocks(&work);
    return STATUS_OK;
}

bool verdict_is_gain(const struct user_table *table)
{
    return table->verdict == elsewhere;
}
