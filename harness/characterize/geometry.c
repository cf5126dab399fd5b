/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "geometry_search.h"
#include "log.h"

enum {
    CONVERGE_ACCESSES = 40000, /* of a warm-up for replacement that takes long to keep what fits */
    LISTS = 7,                 /* of words, that a search has */
};

#define AT(member) #member, .offset = offsetof(struct geometry_level, member)

/* clang-format off */
const struct geometry_finding geometry_findings[GEOMETRY_FINDINGS] = {
    {AT(fetch_bytes), .unit = "bytes", .method = "spacing of the misses of a walk over all words, cold and warm"},
    {AT(line_bytes), .unit = "bytes", .of_shape = true,
     .method = "length of the runs of misses of the smallest region that does not fit"},
    {AT(fits_bytes), .unit = "bytes", .method = "bisection: regions walked again and again, who answers each access"},
    {AT(capacity_bytes), .unit = "bytes", .of_shape = true, .method = "ways x sets x line"},
    {AT(ways), .unit = "lines", .of_shape = true,
     .method = "most lines of one set that all hit, each set by itself; lists drawn at random"},
    {AT(sets), .unit = "sets", .of_shape = true,
     .method = "spacing of the misses of the smallest region that does not fit; lists at random"},
    {AT(lines_taken), .unit = "lines", .of_shape = true, .method = "ways less the lines that fit, over all sets"},
    {AT(replacement), .unit = "row of enum replacement", .of_shape = true,
     .method = "one line more than ways, some walked twice as often: which of them miss; simulated caches that do"},
};
/* clang-format on */

const char *replacement_name(enum replacement replacement)
{
    static const char *const names[] = {"unknown", "LRU", "FIFO", "not LRU", "tree pseudo-LRU"};

    return names[replacement];
}

double geometry_behind(const struct geometry *geometry, size_t level)
{
    return (geometry->level[level].latency.median + geometry->level[level + 1].latency.median) / 2;
}

/* -- findings ----------------------------------------------------------------------------------------- */

static struct geometry_number *number_of(struct geometry_level *level, const struct geometry_finding *finding)
{
    return (struct geometry_number *)((char *)level + finding->offset);
}

const struct geometry_number *geometry_number(const struct geometry_level *level,
                                              const struct geometry_finding *finding)
{
    return (const struct geometry_number *)((const char *)level + finding->offset);
}

void search_found(struct geometry_number *finding, uint32_t value, size_t samples)
{
    finding->known = true;
    finding->value = value;
    finding->samples = samples;
    finding->reason[0] = '\0';
}

void search_not_found(struct geometry_number *finding, const char *format, ...)
{
    va_list arguments;

    finding->known = false;
    finding->value = 0;
    va_start(arguments, format);
    vsnprintf(finding->reason, sizeof(finding->reason), format, arguments);
    va_end(arguments);
}

void search_no_shape(struct geometry_level *level, const char *reason)
{
    for (size_t i = 0; i < GEOMETRY_FINDINGS; i++)
        if (geometry_findings[i].of_shape)
            search_not_found(number_of(level, &geometry_findings[i]), "%s", reason);
}

/* -- walks -------------------------------------------------------------------------------------------- */

void search_walk(struct search *search, size_t count, uint32_t warm_up, uint32_t timed)
{
    const struct probe_walk list = {search->address, count, warm_up, timed};

    if (search->status != STATUS_OK)
        return;
    search->out->walks++;
    search->out->accesses += count * (warm_up + timed);
    search->status = search->prober->walk(search->prober->context, &list, search->cycles);
}

uint8_t search_answered_by(const struct search *search, uint32_t cycles)
{
    for (uint32_t i = 0; i < search->band_count; i++)
        if (cycles >= search->bands[i].low && cycles <= search->bands[i].high)
            return (uint8_t)i;
    return NOBODY;
}

/* -- hit or miss -------------------------------------------------------------------------------------- */

void search_count_misses(struct search *search, size_t level, size_t count, uint32_t groups, uint32_t warm_up,
                         uint32_t passes)
{
    const size_t room = search->prober->samples_max / count;
    uint32_t done = 0;

    memset(search->missed, 0, count * sizeof(*search->missed));
    memset(search->answered, 0, count * sizeof(*search->answered));
    for (uint32_t g = 0; g < groups; g++)
        search->clean[g] = passes;
    while (done < passes) {
        const uint32_t timed = passes - done < room ? passes - done : (uint32_t)room;

        search_walk(search, count, warm_up, timed);
        for (uint32_t p = 0; p < timed; p++) {
            memset(search->judged, 0, groups);
            for (size_t i = 0; i < count; i++) {
                const uint8_t by = search_answered_by(search, search->cycles[p * count + i]);

                search->answered[i] += by != NOBODY;
                if (by == NOBODY || by <= level)
                    continue;
                search->missed[i]++;
                if (search->group[i] != NO_GROUP && !search->judged[search->group[i]]) {
                    search->judged[search->group[i]] = 1;
                    search->clean[search->group[i]]--;
                }
            }
        }
        done += timed;
    }
    search->passes = passes;
}

/* One miss is nothing: an outlier can look like it. The same access missed again and again, or hardly a pass without
 * one, is. *wavers: in some group misses come and go. */
static void judge_groups(struct search *search, size_t count, uint32_t groups, bool *wavers)
{
    const uint32_t passes = search->passes;
    const uint32_t often = passes / 3 > 3 ? passes / 3 : 3;

    for (uint32_t g = 0; g < groups; g++)
        search->judged[g] = search->clean[g] * 10 >= passes * 4 ? FITS
                            : search->clean[g] * 10 <= passes   ? OVERFLOWS
                                                                : UNCLEAR;
    for (size_t i = 0; i < count; i++)
        if (search->group[i] != NO_GROUP && search->missed[i] >= often)
            search->judged[search->group[i]] = OVERFLOWS;
    *wavers = false;
    for (size_t i = 0; i < count; i++)
        *wavers |= search->group[i] != NO_GROUP && search->missed[i] >= 2 && search->missed[i] + 1 < passes;
    for (uint32_t g = 0; g < groups; g++)
        *wavers |= search->judged[g] == UNCLEAR;
}

void search_judge(struct search *search, size_t level, size_t count, uint32_t groups)
{
    const uint32_t converge = (uint32_t)(CONVERGE_ACCESSES / count);
    const uint32_t warm_ups[] = {2, converge < 8 ? 8 : converge > 300 ? 300 : converge};
    bool wavers = true;

    for (uint32_t round = 0; round < 2 && wavers; round++) {
        search_count_misses(search, level, count, groups, warm_ups[round], round ? 12 : 4);
        judge_groups(search, count, groups, &wavers);
    }
}

uint32_t search_passes_before(const struct search *search, size_t level)
{
    const struct geometry_level *before = &search->out->level[level - (level > 0)];

    if (level == 0)
        return 0;
    if (before->capacity_bytes.known)
        return before->capacity_bytes.value + before->sets.value * before->line_bytes.value;
    return 2 * before->fits_bytes.value;
}

/* -- all ---------------------------------------------------------------------------------------------- */

static void find_level(struct search *search, size_t level)
{
    struct geometry_level *out = &search->out->level[level];
    const char *reason = NULL;

    if (!out->fetch_bytes.known)
        reason = out->fetch_bytes.reason;
    else if (level && (!out[-1].fits_bytes.known || out->fetch_bytes.value % search->step))
        reason = "the level before it is not known well enough to pass it";
    if (reason)
        search_not_found(&out->fits_bytes, "%s", reason);
    else
        search_fits(search, level);
    if (out->fits_bytes.known)
        search_shape(search, level);
    else
        search_no_shape(out, out->fits_bytes.reason);
}

static void search_open(struct search *search, const struct prober *prober, struct geometry *out)
{
    uint32_t words = prober->bytes / WORD_BYTES;
    uint32_t **const lists[LISTS] = {&search->address, &search->group, &search->missed, &search->answered,
                                     &search->clean,   &search->cold,  &search->warm};
    size_t swept, cycles;
    uint32_t *next;

    if (prober->samples_max / SWEEP_PASSES * SWEEP_STEP / WORD_BYTES < words)
        words = (uint32_t)(prober->samples_max / SWEEP_PASSES * SWEEP_STEP / WORD_BYTES);
    words = words < prober->samples_max ? words : (uint32_t)prober->samples_max;
    *search = (struct search){.prober = prober, .out = out, .random = 1, .words = words};
    /* The sweep's sizes are a geometric row of the quotient q: less than the largest / (1 - 1/q), 6.3 times it. */
    swept = (size_t)words * 7 / (SWEEP_STEP / WORD_BYTES) + 1;
    cycles = swept > prober->samples_max ? swept : prober->samples_max;
    search->memory = next = calloc((LISTS + 1) * words + SWEEP_PASSES * swept + cycles, sizeof(*next));
    if (!next)
        search->status =
            log_error(STATUS_ENVIRONMENT, "out of memory for walks of %u accesses; free some memory", words);
    for (size_t i = 0; next && i < LISTS; i++, next += words)
        *lists[i] = next;
    search->swept = next;
    search->cycles = search->swept + SWEEP_PASSES * swept;
    search->judged = (uint8_t *)(search->cycles + cycles);
}

static void search_close(struct search *search)
{
    for (size_t i = 0; i < GEOMETRY_LEVELS_MAX; i++) {
        free(search->shapes[i].fits);
        free(search->shapes[i].overflows);
    }
    free(search->memory);
}

enum status geometry_find(const struct prober *prober, uint32_t levels_max, struct geometry *out)
{
    struct search search;

    *out = (struct geometry){.searched_bytes = prober->bytes};
    search_open(&search, prober, out);
    if (search.status == STATUS_OK)
        search_explore(&search);
    if (search.status == STATUS_OK)
        out->level_count = search.band_count < levels_max ? search.band_count : levels_max;
    search_latencies(&search);
    for (size_t level = 0; level < out->level_count; level++) {
        out->level[level].number = (uint32_t)level + 1;
        for (size_t i = 0; i < GEOMETRY_FINDINGS; i++)
            number_of(&out->level[level], &geometry_findings[i])->method = geometry_findings[i].method;
        search_fetch(&search, level);
    }
    search.step = out->level_count ? out->level[0].fetch_bytes.value : 0;
    for (size_t level = 0; search.status == STATUS_OK && level < out->level_count; level++)
        find_level(&search, level);
    search_close(&search);
    return search.status;
}
