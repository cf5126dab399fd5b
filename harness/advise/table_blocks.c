/* SPDX-License-Identifier: MIT
 * The loads of one table, block by block of the code: which of them count, what they cost in each
 * memory space, and whether a block is worse than it could be. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "estimate.h"
#include "log.h"
#include "memory.h"
#include "table_parts.h"

/* Loads outside of loops that count as reading a table once. */
enum { ONCE_LOADS_MOST = 8 };

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

bool work_may_describe(const struct work *work, const struct user_access *load)
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
    if (!isnan(out->addresses) || !isnan(out->wavefronts) || !work_may_describe(work, load))
        return STATUS_OK;
    if (!bytes.known)
        bytes = indices->table_bytes;
    if (!bytes.known) {
        snprintf(work->reason, sizeof(work->reason), "its size is not known: give --table-bytes");
        return STATUS_OK;
    }
    described = describe(work->judge, bytes.value, load->width_bytes);
    if (!described)
        return STATUS_ENVIRONMENT;
    if (described->reason[0]) {
        snprintf(work->reason, sizeof(work->reason), "%s", described->reason);
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
    take(work, load, counts, &taken, &least);
    sums->open += isnan(taken);
    sums->taken += taken;
    sums->least += least;
    sums->ordered_least += isnan(load->counts.addresses) ? taken : least;
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

bool work_is_constant(const struct work *work)
{
    return work->memory && work->memory->space == SPACE_CONSTANT;
}

/* A load of a table in constant memory that fills a copy in shared memory: each thread has its
 * own address. */
static bool is_copy(const struct work *work, const struct user_access *load)
{
    return work_is_constant(work) && load->copied && load->variation >= VARIATION_AFFINE &&
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
    size_t copies = 0, once = 0, loops = 0;
    bool few;

    for (size_t i = 0; i < work->count; i++)
        copies += is_copy(work, work->loads[i]);
    work->has_copy = copies > 0;
    work->table->load = *work->loads[0];
    work->table->load.copied = copies == work->count;
    for (size_t i = 0; i < work->count; i++)
        if (takes_part(work, work->loads[i])) {
            once += work->loads[i]->depth == 0;
            loops += work->loads[i]->depth > 0;
        }
    few =
        work_is_constant(work) && once > 0 && once <= ONCE_LOADS_MOST && !work->table->load.copied;
    work->in_loops = loops > 0;
    work->table->once = few && loops == 0 && work->kernel->works_in_loops;
    work->left_out = few && loops > 0;
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
    work->narrowest =
        first || load->width_bytes < work->narrowest ? load->width_bytes : work->narrowest;
    work->widest = load->width_bytes > work->widest ? load->width_bytes : work->widest;
    table->load.copied = copied;
    table->load.variation = variation;
    table->load.condition = condition;
    table->loads++;
    table->indexed |= strncmp(load->instruction, "LDC", strlen("LDC")) == 0 &&
                      strncmp(load->instruction, "LDCU", strlen("LDCU")) != 0;
    if (work->memory)
        take(work, load, counts, &taken, &best);
    if (isnan(counts->addresses) || (work->memory && isnan(taken))) {
        if (!work->open || load->variation > work->open->variation)
            work->open = load;
        return;
    }
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
    if (out->loads > 0 && !work->in_loops && !work->has_copy)
        for (int space = 0; space < SPACES; space++)
            if (space_rows[space].copied && (enum space)space != work->memory->space)
                cycles_add(&out->cycles[space], copy_cycles((enum space)space, work->judge->card));
    return STATUS_OK;
}

bool work_may_hold(const struct work *work, enum space space)
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
        (!bytes.known || bytes.value > (uint64_t)row->entries_most * work->narrowest ||
         work->widest > row->width_most))
        return false;
    return !bytes.known || bytes.value <= row->bytes_most;
}

/* Finds the space that takes the fewest cycles for all loads. */
static void choose_space(struct work *work)
{
    const struct cycles *cycles = work->all.cycles;

    work->better = SPACES;
    for (int space = 0; space < SPACES; space++)
        if (work_may_hold(work, (enum space)space) && !isnan(cycles[space].value) &&
            (work->better == SPACES || cycles[space].value < cycles[work->better].value))
            work->better = (enum space)space;
}

bool cycles_are_below(const struct cycles *less, const struct cycles *more)
{
    return less->high * TIME_MODEL_ERROR < more->low;
}

/* Whether only another space helps a load of the memory that takes more than at best. */
static bool is_serial(const struct work *work)
{
    return work->memory->space == SPACE_CONSTANT || work->memory->space == SPACE_TEXTURE;
}

/* Judges a block of code. */
static void judge_block(struct work *work, const struct sums *sums)
{
    const struct cycles *current = &sums->cycles[work->memory->space];
    const bool has_better = work->better != SPACES;
    const bool gains = has_better && cycles_are_below(&sums->cycles[work->better], current);
    const bool passed_on = work_is_constant(work) && sums->passed_on && !work->in_loops;
    /* Less than the error of the model is not told. */
    const bool serial = sums->taken > sums->least * TIME_MODEL_ERROR && !passed_on;
    enum state state = STATE_FINE;

    if (sums->open > 0)
        state = STATE_OPEN;
    else if (is_serial(work) ? serial : sums->taken > sums->ordered_least || (serial && gains))
        state = STATE_WORSE;
    work->blocks[state]++;
    work->gains += state == STATE_WORSE && gains;
    if (!has_better)
        return;
    work->low = fmin(work->low, current->low / sums->cycles[work->better].high);
    work->high = fmax(work->high, current->high / sums->cycles[work->better].low);
}

/* Notes the loads that count. */
static enum status note_loads(struct work *work)
{
    for (size_t i = 0; i < work->count; i++) {
        struct warp_counts counts = work->loads[i]->counts;
        enum status status = STATUS_OK;

        if (!takes_part(work, work->loads[i]))
            continue;
        if (work->memory)
            status = count_load(work, work->loads[i], &counts);
        if (status != STATUS_OK)
            return status;
        note_load(work, work->loads[i], &counts);
    }
    return STATUS_OK;
}

/* Passes over the blocks: once for all sums, and once to judge each. */
enum status work_judge_blocks(struct work *work)
{
    struct sums sums;
    enum status status;

    choose_loads(work);
    status = note_loads(work);
    if (status != STATUS_OK || !work->memory)
        return status;

    for (size_t next = 0; next < work->count;) {
        status = sum_block(work, &next, &sums);
        if (status != STATUS_OK)
            return status;
        if (sums.loads == 0)
            continue;
        work->all.loads += sums.loads;
        work->all.taken += sums.taken;
        work->all.least += sums.least;
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
        status = sum_block(work, &next, &sums);
        if (status != STATUS_OK)
            return status;
        if (sums.loads > 0)
            judge_block(work, &sums);
    }
    return STATUS_OK;
}
