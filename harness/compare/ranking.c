/* SPDX-License-Identifier: MIT
 * Ranks the memory spaces of users' kernels: which is the fastest, which differ from it by more
 * than noise, what the addresses of buffers do to that, and what may be the reason. */
#include "ranking.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "series.h"
#include "side.h"
#include "text.h"

const char *const rank_verdict_words[RANK_VERDICTS] = {[RANK_FASTEST] = "fastest",
                                                       [RANK_AS_FAST] = "as fast",
                                                       [RANK_TOO_CLOSE] = "too close to call",
                                                       [RANK_SLOWER] = "slower",
                                                       [RANK_SLOWER_ON_AVERAGE] =
                                                           "slower on average"};

/* -- reasons ----------------------------------------------------------------------------------- */

/* Reasons for a time, from counters: the ratio of two of them, where it is at least 1.5. */
static const struct {
    const char *counter, *over, *reason; /* `reason` has the ratio */
} reasons[] = {
    {"idc_requests", "ldc_instructions", "an LDC reads %.1f addresses, one after the other"},
    {"shared_wavefronts", "shared_load_instructions",
     "an LDS takes %.1f turns, for bank conflicts"},
    {"l1_sectors", "l1_requests", "a global load reads %.1f sectors"},
};

/* How many of the first counter there are for one of the second; NaN if it is not known. */
static double counted(const struct cell_result *cell, size_t reason)
{
    return counter_counted(cell->counters, cell->counter_count, reasons[reason].counter) /
           counter_counted(cell->counters, cell->counter_count, reasons[reason].over);
}

/* -- ranks ------------------------------------------------------------------------------------- */

/* The greatest time by the least, of addresses that are told. */
static const double addresses_apart = 1.05;
/* Of pairs of addresses, one of each memory space: where fewer are slower, it is so on average. */
static const double slower_share = 0.95;

static int compare_ranks(const void *left, const void *right)
{
    const struct rank *a = left, *b = right;
    const double a_ns = a->row.found->time.summary.value, b_ns = b->row.found->time.summary.value;

    if (a->timed != b->timed)
        return a->timed ? -1 : 1;
    return !a->timed ? cell_order(a->row.cell, b->row.cell) : (a_ns > b_ns) - (a_ns < b_ns);
}

/* The times of a cell by the addresses of its buffers: the median of each buffer set. 0: it has
 * fewer samples than buffer sets. */
static size_t times_by_address(const struct cell_result *cell, double out[TABLE_BUFFER_SETS])
{
    const struct cell_time *time = &cell->time;
    const size_t sets = time->series.buffer_sets;
    double *const sorted = calloc(time->summary.count + 1, sizeof(*sorted));

    if (!sorted || sets < 2 || sets > TABLE_BUFFER_SETS || time->summary.count < sets) {
        free(sorted);
        return 0;
    }
    series_set_medians(time->samples_ns, time->summary.count, sets, sorted, out);
    free(sorted);
    return sets;
}

/* What the address of its buffers does to a rank: a user's table has one address, and the time is
 * the mean over many. Says so where it matters. */
static void judge_addresses(struct rank *rank, const struct rank *best)
{
    double times[TABLE_BUFFER_SETS], best_times[TABLE_BUFFER_SETS], least = INFINITY, most = 0;
    const size_t count = times_by_address(rank->row.found, times),
                 best_count = rank == best ? 0 : times_by_address(best->row.found, best_times);
    size_t slower = 0;
    double share;

    for (size_t i = 0; i < count; i++) {
        least = fmin(least, times[i]);
        most = fmax(most, times[i]);
        for (size_t k = 0; k < best_count; k++)
            slower += times[i] > best_times[k];
    }
    if (count == 0)
        return;
    share = best_count ? (double)slower / (double)(count * best_count) : NAN;
    rank->addresses = (struct rank_addresses){true, (uint32_t)count, least, most, share};
    if (most < addresses_apart * least)
        return;
    text_join(rank->why, sizeof(rank->why), "; ", "%s to %s by the address of its memory",
              text_of(text_time, least).text, text_of(text_time, most).text);
    if (rank->verdict != RANK_SLOWER || !(share < slower_share))
        return;
    rank->verdict = RANK_SLOWER_ON_AVERAGE;
    text_join(rank->why, sizeof(rank->why), "; ", "slower at %.0f %% of pairs of addresses",
              100 * share);
}

/* Why a slower rank may be so: what it does more often than the fastest. */
static void find_reasons(struct rank *rank, const struct rank *best)
{
    const struct cell_result *found = rank->row.found, *fastest = best->row.found;

    for (size_t k = 0; k < sizeof(reasons) / sizeof(reasons[0]); k++) {
        const double ratio = counted(found, k), best_count = counted(fastest, k);

        if (ratio >= 1.5 && !(best_count >= ratio / 1.2))
            text_join(rank->why, sizeof(rank->why), "; ", reasons[k].reason, ratio);
    }
    if (found->of_case.blocks_per_sm < fastest->of_case.blocks_per_sm)
        text_join(rank->why, sizeof(rank->why), "; ", "an SM has room for %u blocks, not %u",
                  found->of_case.blocks_per_sm, fastest->of_case.blocks_per_sm);
}

/* The ratio of a rank to the fastest. */
static struct rank_ratio ratio_to(const struct rank *rank, const struct rank *best)
{
    struct rank_ratio ratio =
        {.value = rank->row.found->time.summary.value / best->row.found->time.summary.value,
         .half_width = rank == best ? NAN : hypot(rank->row.half_width, best->row.half_width)};

    ratio.ci_low = ratio.value * (1 - ratio.half_width);
    ratio.ci_high = ratio.value * (1 + ratio.half_width);
    return ratio;
}

/* Sorts the ranks of a kernel, size and cache state, the fastest first, and judges the others
 * against it. */
static enum status judge_ranks(struct rank *ranks, size_t count,
                               const struct judge_options *options)
{
    static const enum rank_verdict verdicts[VERDICTS] = {[VERDICT_SAME] = RANK_AS_FAST,
                                                         [VERDICT_INCONCLUSIVE] = RANK_TOO_CLOSE,
                                                         [VERDICT_REGRESSED] = RANK_SLOWER};
    struct judged_cell **judged = calloc(count + 1, sizeof(*judged));
    enum status status = judged ? STATUS_OK : log_memory("ranks");
    size_t timed = 0;

    qsort(ranks, count, sizeof(*ranks), compare_ranks);
    for (; status == STATUS_OK && timed < count && ranks[timed].timed; timed++) {
        judged[timed] = &ranks[timed].judged;
        status = judged_cell_of(ranks[0].row.found, ranks[timed].row.found, judged[timed]);
    }
    if (status == STATUS_OK && timed > 1)
        status = judge(judged + 1, timed - 1, options);
    free(judged);
    for (size_t i = 0; status == STATUS_OK && i < timed; i++) {
        struct rank *rank = &ranks[i];

        rank->place = (uint32_t)i + 1;
        rank->ratio = ratio_to(rank, &ranks[0]);
        rank->verdict = i == 0 ? RANK_FASTEST : verdicts[rank->judged.verdict];
        judge_addresses(rank, &ranks[0]);
        if (i > 0 && rank->judged.verdict == VERDICT_REGRESSED)
            find_reasons(rank, &ranks[0]);
    }
    return status;
}

size_t ranking_group_end(const struct ranking *ranking, size_t first)
{
    size_t end = first + 1;

    while (end < ranking->count &&
           cell_order_before(ranking->ranks[first].row.cell, ranking->ranks[end].row.cell,
                             AXIS_PATTERN) == 0)
        end++;
    return end;
}

enum status ranking_open(const struct result *result, double threshold, struct ranking *out)
{
    const struct judge_options options = {.threshold = threshold};
    struct cell_rows rows;
    enum status status = cell_rows_open(result, NULL, NULL, &rows);

    *out = (struct ranking){.result = result, .threshold = threshold};
    out->ranks = calloc(rows.count + 1, sizeof(*out->ranks));
    if (status == STATUS_OK && !out->ranks)
        status = log_memory("ranks");
    for (; status == STATUS_OK && out->count < rows.count; out->count++) {
        const struct cell_row *row = &rows.rows[out->count];

        out->ranks[out->count] =
            (struct rank){.row = *row,
                          .judged = judged_unknown,
                          .timed = row->found->status == CELL_OK && row->found->verified,
                          .ratio = {NAN, NAN, NAN, NAN},
                          .addresses = {.slower_share = NAN}};
        snprintf(out->ranks[out->count].space, sizeof(out->ranks[out->count].space), "%s%s",
                 row->cell->kernel.spaces, row->found->of_case.as_written ? " (as written)" : "");
    }
    free(rows.rows);
    /* Rows of one kernel, size and cache state are neighbours. */
    for (size_t first = 0, end; first < out->count && status == STATUS_OK; first = end) {
        end = ranking_group_end(out, first);
        status = judge_ranks(&out->ranks[first], end - first, &options);
    }
    return status;
}

void ranking_close(struct ranking *ranking)
{
    free(ranking->ranks);
    *ranking = (struct ranking){.ranks = NULL};
}
