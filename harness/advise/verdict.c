/* SPDX-License-Identifier: MIT
 * Verdicts on tables: see verdict.h. */
#include "verdict.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "estimate.h"
#include "log.h"
#include "memory.h"
#include "text.h"

/* Words of the document. */
static const char as_it_should_be[] = "as it should be", elsewhere[] = "faster elsewhere",
                  conflicts[] = "bank conflicts", uncoalesced[] = "uncoalesced",
                  depends[] = "depends", cannot_tell[] = "cannot tell", no_table[] = "no table";

/* Where the code of a table's memory is told. */
static const struct memory_row {
    const char *memory;
    enum space space;
    const char *unit; /* what its loads take more of, the worse they are; with s for several */
    const char *worse; /* the verdict, where no space is better */
} memory_rows[] = {
    {"constant", SPACE_CONSTANT, "address", cannot_tell},
    {"param", SPACE_CONSTANT, "address", cannot_tell},
    {"shared", SPACE_SHARED, "wavefront", conflicts},
    {"global", SPACE_GLOBAL, "sector", uncoalesced},
    {"texture", SPACE_TEXTURE, "wavefront", cannot_tell},
};

/* A block of code, or all that count: sums over its loads. */
struct sums {
    struct warp_counts counts;
    double taken, least; /* of what the unit of the memory counts: see struct memory_row */
    double sectors_least, wavefronts_least;
    struct cycles cycles[SPACES];
    uint32_t loads, open; /* open: those of them whose addresses are not known */
    bool passed_on; /* all of them go on by a shuffle */
};

/* What is said of a block. */
enum state { STATE_FINE, STATE_WORSE, STATE_OPEN, STATES };

/* The work on one table. */
struct work {
    struct judge *judge;
    const struct cubin_kernel *kernel;
    const struct memory_row *memory;
    const struct user_access *const *loads;
    size_t count;
    struct user_table *table;
    struct sums all;
    enum space better; /* SPACES: there is none */
    double low, high; /* ends of the ratio over the blocks */
    uint32_t blocks[STATES], gains; /* gains: blocks that `better` answers in less time */
    bool in_loops; /* a load that counts is in a loop */
    bool left_out; /* loads outside of loops do not count */
    bool differ; /* and threads of a warp may differ there */
    const struct user_access *most, *least, *open; /* loads that the text names */
    double most_taken, most_best, least_taken, least_best; /* what they take, and at best */
    const char *reason; /* why the user's indices do not stand for a load; NULL */
};

struct counted_indices {
    uint64_t bytes;
    uint32_t width;
    struct described described;
};

void judge_close(struct judge *judge)
{
    free(judge->counted);
    judge->counted = NULL;
    judge->counted_count = 0;
}

/* -- counts of a load -------------------------------------------------------------------------- */

/* The user's indices for a table of that size; NULL, logged, on failure. */
static const struct described *describe(struct judge *judge, uint64_t bytes, uint32_t width)
{
    struct counted_indices *found;

    for (size_t i = 0; i < judge->counted_count; i++)
        if (judge->counted[i].bytes == bytes && judge->counted[i].width == width)
            return &judge->counted[i].described;
    if (!memory_grow(&judge->counted, judge->counted_count, sizeof(*judge->counted))) {
        log_memory("the counts of tables");
        return NULL;
    }
    found = &judge->counted[judge->counted_count];
    *found = (struct counted_indices){.bytes = bytes, .width = width};
    if (judge->indices->count(judge->indices->context, bytes, width, &found->described) !=
        STATUS_OK)
        return NULL;
    judge->counted_count++;
    return &found->described;
}

/* Whether the user's indices stand for those of a load, whatever the size of its table. */
static bool may_describe(const struct work *work, const struct user_access *load)
{
    const struct user_indices *indices = work->judge->indices;

    return indices && (load->variation == VARIATION_DATA ||
                       (load->variation == VARIATION_THREAD && indices->of_threads));
}

/* The counts of a load: its own, or those of the user's indices. NaN: not known. */
static enum status count_load(struct work *work, const struct user_access *load,
                              struct warp_counts *out)
{
    const struct user_indices *indices = work->judge->indices;
    const struct described *described;
    struct optional bytes = load->table_bytes;

    *out = load->counts;
    if (!isnan(out->addresses) || !may_describe(work, load))
        return STATUS_OK;
    if (!bytes.known)
        bytes = indices->table_bytes;
    if (!bytes.known) {
        work->reason = "its size is not known: give --table-bytes";
        return STATUS_OK;
    }
    described = describe(work->judge, bytes.value, load->width_bytes);
    if (!described)
        return STATUS_ENVIRONMENT;
    if (described->reason[0]) {
        work->reason = described->reason;
        return STATUS_OK;
    }
    *out = described->counts;
    work->table->assumed = true;
    return STATUS_OK;
}

/* The least wavefronts of a load of entries of that width: one address of a warp takes one. */
static double least_wavefronts(const struct warp_counts *counts, uint32_t width)
{
    return counts->addresses > 1 && width > ACCESS_BANK_BYTES ? width / ACCESS_BANK_BYTES : 1;
}

/* What a load takes of the unit of its memory, and what it takes at best. */
static void take(const struct work *work, const struct user_access *load,
                 const struct warp_counts *counts, double *taken, double *least)
{
    *least = 1;
    switch (work->memory->space) {
    case SPACE_SHARED:
        *taken = counts->wavefronts;
        *least = least_wavefronts(counts, load->width_bytes);
        break;
    case SPACE_GLOBAL:
        /* What data decide has no better order: its wavefronts count. */
        if (isnan(load->sectors_least)) {
            *taken = fmax(counts->tag_wavefronts, counts->wavefronts);
            *least = least_wavefronts(counts, load->width_bytes);
        } else {
            *taken = counts->sectors;
            *least = load->sectors_least;
        }
        break;
    case SPACE_TEXTURE:
        *taken = counts->tag_wavefronts;
        break;
    default:
        *taken = counts->addresses;
    }
}

static void add_load(struct work *work, const struct user_access *load,
                     const struct warp_counts *counts, struct sums *sums)
{
    double taken, least;

    sums->passed_on = load->passed_on && (sums->loads == 0 || sums->passed_on);
    sums->loads++;
    sums->open += isnan(counts->addresses);
    take(work, load, counts, &taken, &least);
    sums->taken += taken;
    sums->least += least;
    sums->counts.addresses += counts->addresses;
    sums->counts.wavefronts += counts->wavefronts;
    sums->counts.tag_wavefronts += counts->tag_wavefronts;
    sums->counts.sectors += counts->sectors;
    sums->sectors_least += load->sectors_least;
    sums->wavefronts_least += least_wavefronts(counts, load->width_bytes);
    for (int space = 0; space < SPACES; space++)
        cycles_add(&sums->cycles[space],
                   load_cycles((enum space)space, counts, load->width_bytes, work->judge->card));
}

/* -- which loads count ------------------------------------------------------------------------- */

static bool is_constant(const struct work *work)
{
    return work->memory && work->memory->space == SPACE_CONSTANT;
}

/* A load of a table in constant memory that fills a copy in shared memory: each thread has its
 * own address. */
static bool is_copy(const struct work *work, const struct user_access *load)
{
    return is_constant(work) && load->copied && load->variation >= VARIATION_AFFINE &&
           load->variation != VARIATION_DATA;
}

/* Whether a load counts. Copies and loads outside of loops do where there are no others. */
static bool takes_part(const struct work *work, const struct user_access *load)
{
    const struct user_table *table = work->table;

    if (!table->load.copied && is_copy(work, load))
        return false;
    return load->depth > 0 || !work->left_out;
}

/* Decides which loads count, by all of them. */
static void choose_loads(struct work *work)
{
    bool copies = true, once = false, loops = false;

    for (size_t i = 0; i < work->count; i++)
        copies &= is_copy(work, work->loads[i]);
    work->table->load = *work->loads[0];
    work->table->load.copied = copies;
    for (size_t i = 0; i < work->count; i++)
        if (takes_part(work, work->loads[i])) {
            once |= work->loads[i]->depth == 0;
            loops |= work->loads[i]->depth > 0;
        }
    work->in_loops = loops;
    work->table->once = is_constant(work) && !copies && !loops && work->kernel->works_in_loops;
    work->left_out = is_constant(work) && once && loops;
    for (size_t i = 0; work->left_out && i < work->count; i++)
        work->differ |= !takes_part(work, work->loads[i]) && !is_copy(work, work->loads[i]) &&
                        work->loads[i]->counts.addresses != 1;
}

/* Notes a load that counts: the table has the greatest variation of them. */
static void note_load(struct work *work, const struct user_access *load,
                      const struct warp_counts *counts)
{
    struct user_table *table = work->table;
    const bool first = table->loads == 0;
    const bool copied = table->load.copied;
    const enum variation variation =
        first || load->variation > table->load.variation ? load->variation : table->load.variation;
    const char *condition = load->condition ? load->condition
                            : first         ? NULL
                                            : table->load.condition;
    double taken = NAN, best = NAN;

    if (first)
        table->load = *load;
    table->load.copied = copied;
    table->load.variation = variation;
    table->load.condition = condition;
    table->loads++;
    table->indexed |= strncmp(load->instruction, "LDC", strlen("LDC")) == 0 &&
                      strncmp(load->instruction, "LDCU", strlen("LDCU")) != 0;
    if (isnan(counts->addresses)) {
        if (!work->open || load->variation > work->open->variation)
            work->open = load;
        return;
    }
    if (work->memory)
        take(work, load, counts, &taken, &best);
    if (!work->most || taken / best > work->most_taken / work->most_best) {
        work->most = load;
        work->most_taken = taken;
        work->most_best = best;
    }
    if (!work->least || taken / best < work->least_taken / work->least_best) {
        work->least = load;
        work->least_taken = taken;
        work->least_best = best;
    }
}

/* -- blocks of code ---------------------------------------------------------------------------- */

/* Adds up the loads of a block of code that count, from load *next on, which it moves behind
 * them. */
static enum status sum_block(struct work *work, size_t *next, struct sums *out)
{
    const uint32_t block = work->loads[*next]->code_block;

    *out = (struct sums){0};
    for (; *next < work->count && work->loads[*next]->code_block == block; ++*next) {
        const struct user_access *load = work->loads[*next];
        struct warp_counts counts;
        enum status status;

        if (!takes_part(work, load))
            continue;
        status = count_load(work, load, &counts);
        if (status != STATUS_OK)
            return status;
        add_load(work, load, &counts, out);
    }
    if (out->loads > 0 && !work->in_loops)
        for (int space = 0; space < SPACES; space++)
            if (space_rows[space].copied && (enum space)space != work->memory->space)
                cycles_add(&out->cycles[space], copy_cycles((enum space)space, work->judge->card));
    return STATUS_OK;
}

/* Whether a space has room for the table. */
static bool may_hold(const struct work *work, enum space space)
{
    const struct space_row *row = &space_rows[space];
    const struct user_access *load = &work->table->load;
    const bool parameter = strcmp(load->memory, "param") == 0;
    struct optional bytes = load->table_bytes;

    if (!bytes.known && work->table->assumed)
        bytes = work->judge->indices->table_bytes;
    if (space == work->memory->space || space == SPACE_TEXTURE || (!bytes.known && !parameter))
        return false;
    if (row->entries_most &&
        (!bytes.known || bytes.value > (uint64_t)row->entries_most * load->width_bytes ||
         load->width_bytes > row->width_most))
        return false;
    return !bytes.known || bytes.value <= row->bytes_most;
}

/* Finds the space that takes the fewest cycles for all loads. */
static void choose_space(struct work *work)
{
    const struct cycles *cycles = work->all.cycles;

    work->better = SPACES;
    for (int space = 0; space < SPACES; space++)
        if (may_hold(work, (enum space)space) && !isnan(cycles[space].value) &&
            (work->better == SPACES || cycles[space].value < cycles[work->better].value))
            work->better = (enum space)space;
}

/* Whether the units of two spaces are told apart by the card: the first is busy for less time. */
static bool is_below(const struct cycles *one, const struct cycles *other)
{
    return one->high * TIME_MODEL_ERROR < other->low;
}

/* Judges a block of code. */
static void judge_block(struct work *work, const struct sums *sums)
{
    const struct cycles *current = &sums->cycles[work->memory->space];
    const bool counted = work->memory->space == SPACE_SHARED || work->memory->space == SPACE_GLOBAL;
    /* Means of the user's indices are no proof of one more. */
    const double allowed = counted && !work->table->assumed ? 1 : TIME_MODEL_ERROR;
    enum state state;

    if (sums->open > 0)
        state = STATE_OPEN;
    else if (sums->taken > sums->least * allowed && !(is_constant(work) && sums->passed_on))
        state = STATE_WORSE;
    else
        state = STATE_FINE;
    work->blocks[state]++;
    if (work->better == SPACES)
        return;
    work->gains += state == STATE_WORSE && is_below(&sums->cycles[work->better], current);
    work->low = fmin(work->low, current->low / sums->cycles[work->better].high);
    work->high = fmax(work->high, current->high / sums->cycles[work->better].low);
}

/* Passes over the blocks: once for all sums, and once to judge each. */
static enum status judge_blocks(struct work *work)
{
    struct sums sums;

    for (size_t next = 0; next < work->count;) {
        const enum status status = sum_block(work, &next, &sums);

        if (status != STATUS_OK)
            return status;
        if (sums.loads == 0)
            continue;
        work->all.loads += sums.loads;
        work->all.taken += sums.taken;
        work->all.counts.addresses += sums.counts.addresses;
        work->all.counts.wavefronts += sums.counts.wavefronts;
        work->all.counts.tag_wavefronts += sums.counts.tag_wavefronts;
        work->all.counts.sectors += sums.counts.sectors;
        work->all.sectors_least += sums.sectors_least;
        work->all.wavefronts_least += sums.wavefronts_least;
        for (int space = 0; space < SPACES; space++)
            cycles_add(&work->all.cycles[space], sums.cycles[space]);
    }
    choose_space(work);
    work->low = INFINITY;
    work->high = 0;
    for (size_t next = 0; next < work->count;) {
        const enum status status = sum_block(work, &next, &sums);

        if (status != STATUS_OK)
            return status;
        if (sums.loads > 0)
            judge_block(work, &sums);
    }
    return STATUS_OK;
}

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

    WHY(work, "%s", why ? why : "the stride is known at run time alone");
    if (load->variation == VARIATION_UNKNOWN && load->reason)
        WHY(work, ": %s", load->reason);
    if (may_describe(work, load) && work->reason)
        WHY(work, "; %s", work->reason);
    else if (load->variation == VARIATION_DATA)
        WHY(work, ": give --source or --indices");
    else if (load->variation == VARIATION_THREAD)
        WHY(work, ": give --pattern or --indices");
}

/* What a load takes, and why that is as it should be. */
static void say_fine(struct work *work)
{
    struct user_table *table = work->table;
    const bool uniform = table->counts.addresses == 1;
    const bool passed_on =
        is_constant(work) && work->all.taken > work->all.loads * TIME_MODEL_ERROR;

    if (table->once)
        WHY(work, "each thread reads it once, outside of the loops in which the kernel works");
    else if (passed_on)
        WHY(work, "each thread reads it once, and passes it on by a shuffle");
    else if (is_constant(work) && uniform)
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
        WHY(work, work->in_loops ? ", once it is copied there" : ", with the copy to there");
    if (work->table->close[0])
        WHY(work, "; too close to call: %s", work->table->close);
}

/* How the worst of the loads and the best of them differ. */
static void say_depends(struct work *work)
{
    WHY(work, "it depends on which loads run most: ");
    say_place(work, work->most);
    WHY(work, ", ");
    say_taken(work, work->most_taken);
    WHY(work, " of a warp's load where %.3g would do", work->most_best);
    if (work->blocks[STATE_FINE] > 0) {
        WHY(work, "; ");
        say_place(work, work->least);
        WHY(work, ", ");
        say_taken(work, work->least_taken);
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
            (enum space)space == work->memory->space || may_hold(work, (enum space)space)
                ? all->cycles[space].value / loads
                : NAN;
    if (work->better == SPACES || table->load.copied || (is_constant(work) && !table->indexed))
        return;
    table->unit_time_ratio =
        all->cycles[work->memory->space].value / all->cycles[work->better].value;
    table->low = work->low / TIME_MODEL_ERROR;
    /* Lines that the L1 constant cache misses come on top. */
    if (!is_constant(work) || optional_number(table->load.table_bytes) <= capacity.low)
        table->high = work->high * TIME_MODEL_ERROR;
}

/* Names the better space, and those that the card does not tell from it. */
static void write_better(struct work *work)
{
    struct user_table *table = work->table;
    const struct cycles *cycles = work->all.cycles;

    table->better = space_rows[work->better].path;
    for (int space = 0; space < SPACES; space++)
        if ((enum space)space != work->better && may_hold(work, (enum space)space) &&
            !isnan(cycles[space].value) && !is_below(&cycles[work->better], &cycles[space]))
            text_join(table->close, sizeof(table->close), " ", "%s", space_rows[space].path);
}

/* All blocks are worse than at best, and no other space is told to take less. */
static void judge_worse(struct work *work)
{
    struct user_table *table = work->table;

    table->verdict = work->memory->worse;
    if (table->assumed && table->verdict != cannot_tell) {
        table->verdict = as_it_should_be;
        say_load(work);
        WHY(work, ", and no memory space is told to take less time");
    } else if (table->verdict == conflicts) {
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
        WHY(work, "an array of each thread's own, indexed at run time: registers hold it if loops "
                  "are unrolled in full");
    }
}

/* Memory whose loads have no cost that is counted. */
static void judge_other(struct work *work)
{
    struct user_table *table = work->table;

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
    choose_loads(&work);
    for (size_t i = 0; i < count; i++) {
        struct warp_counts counts;

        if (!takes_part(&work, loads[i]))
            continue;
        status = work.memory ? count_load(&work, loads[i], &counts) : STATUS_OK;
        if (status != STATUS_OK)
            return status;
        note_load(&work, loads[i], work.memory ? &counts : &loads[i]->counts);
    }
    if (!work.memory) {
        judge_other(&work);
        return STATUS_OK;
    }
    status = judge_blocks(&work);
    if (status != STATUS_OK)
        return status;
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
