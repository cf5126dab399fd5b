/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "geometry_search.h"
#include "log.h"

enum {
    CONVERGE_ACCESSES = 40000, /* of a warm-up for replacement that takes long to keep what fits */
    LISTS = 9,                 /* of words, that a search has */
};

#define AT(member) #member, offsetof(struct geometry_level, member)

/* clang-format off */
const struct geometry_finding geometry_findings[GEOMETRY_FINDINGS] = {
    {AT(fetch_bytes), false, "bytes", "spacing of the misses of a walk over all words, cold and warm"},
    {AT(line_bytes), true, "bytes", "length of the runs of misses of the smallest region that does not fit"},
    {AT(fits_bytes), false, "bytes", "bisection: regions walked again and again, who answers each access"},
    {AT(capacity_bytes), true, "bytes", "ways x sets x line"},
    {AT(ways), true, "lines", "most lines of one set that all hit, each set by itself; lists drawn at random"},
    {AT(sets), true, "sets", "spacing of the misses of the smallest region that does not fit; lists at random"},
    {AT(lines_taken), true, "lines", "ways less the lines that fit, over all sets"},
    {AT(replacement), true, "bits of the policies that it can be",
     "random visits to more lines of a set than fit: which of them miss; simulated caches that do"},
};
/* clang-format on */

double geometry_behind(const struct geometry *geometry, size_t level)
{
    return (geometry->level[level].latency.value + geometry->level[level + 1].latency.value) / 2;
}

/* -- findings ----------------------------------------------------------------------------------------- */

const struct geometry_number *geometry_number(const struct geometry_level *level, const struct geometry_finding *of)
{
    return (const struct geometry_number *)((const char *)level + of->offset);
}

static struct geometry_number *number_in(struct geometry_level *level, size_t finding)
{
    return (struct geometry_number *)((char *)level + geometry_findings[finding].offset);
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
            search_not_found(number_in(level, i), "%s", reason);
}

/* -- walks -------------------------------------------------------------------------------------------- */

bool search_answers(const struct search *search, size_t count, uint32_t warm_up, uint32_t timed)
{
    const struct probe_walk list = {search->address, count, warm_up, timed};
    const struct prober *prober = search->prober;

    return !prober->answers || prober->answers(prober->context, &list);
}

void search_walk(struct search *search, size_t count, uint32_t warm_up, uint32_t timed)
{
    const struct probe_walk list = {search->address, count, warm_up, timed};

    if (search->status != STATUS_OK)
        return;
    search->out->walks++;
    search->out->accesses += count * (warm_up + timed);
    search->status = search->prober->walk(search->prober->context, &list, search->cycles);
}

int search_answered_by(const struct search *search, uint32_t cycles)
{
    for (uint32_t i = 0; i < search->band_count; i++)
        if (cycles >= search->bands[i].low && cycles <= search->bands[i].high)
            return (int)i;
    return NOBODY;
}

/* -- hit or miss -------------------------------------------------------------------------------------- */

void search_count_misses(struct search *search, size_t count, uint32_t groups, uint32_t warm_up, uint32_t passes)
{
    const size_t room = search->prober->samples_max / count;

    memset(search->missed, 0, count * sizeof(*search->missed));
    memset(search->answered, 0, count * sizeof(*search->answered));
    for (uint32_t g = 0; g < groups; g++)
        search->clean[g] = passes;
    for (uint32_t done = 0, timed; done < passes; done += timed) {
        timed = passes - done < room ? passes - done : (uint32_t)room;
        search_walk(search, count, warm_up, timed);
        for (size_t k = 0; k < timed * count; k++) {
            const size_t i = k % count;
            const uint32_t group = search->group[i];
            const int by = search_answered_by(search, search->cycles[k]);

            if (i == 0)
                memset(search->judged, 0, groups);
            search->answered[i] += by != NOBODY;
            search->missed[i] += by > search->index;
            if (by > search->index && group != NO_GROUP) {
                search->clean[group] -= !search->judged[group];
                search->judged[group] = 1;
            }
        }
    }
    search->passes = passes;
}

/* One miss is nothing: an outlier can look like it. The same access missed again and again, or hardly a pass without
 * one, is. Where in some group misses come and go, the list is walked once more, and more often. */
void search_judge(struct search *search, size_t count, uint32_t groups)
{
    const uint32_t converge = (uint32_t)(CONVERGE_ACCESSES / count);
    const uint32_t warm_ups[] = {2, converge < 8 ? 8 : converge > 300 ? 300 : converge};
    bool wavers = true;

    for (uint32_t round = 0; round < 2 && wavers; round++) {
        const uint32_t passes = round ? 12 : 4, often = round ? 4 : 3;

        search_count_misses(search, count, groups, warm_ups[round], passes);
        wavers = false;
        for (uint32_t g = 0; g < groups; g++)
            search->judged[g] = search->clean[g] * 10 >= passes * 4 ? FITS
                                : search->clean[g] * 10 <= passes   ? OVERFLOWS
                                                                    : UNCLEAR;
        for (size_t i = 0; i < count; i++) {
            if (search->group[i] == NO_GROUP)
                continue;
            if (search->missed[i] >= often)
                search->judged[search->group[i]] = OVERFLOWS;
            wavers |= search->missed[i] >= 2 && search->missed[i] + 1 < passes;
        }
        for (uint32_t g = 0; g < groups; g++)
            wavers |= search->judged[g] == UNCLEAR;
    }
}

uint32_t search_passes_before(const struct search *search)
{
    const struct geometry_level *before = search->level - 1;

    if (search->index == 0)
        return 0;
    if (before->capacity_bytes.known)
        return before->capacity_bytes.value + before->sets.value * before->line_bytes.value;
    return 2 * before->fits_bytes.value;
}

/* -- all ---------------------------------------------------------------------------------------------- */

static void find_level(struct search *search, size_t level)
{
    struct geometry_level *out = &search->out->level[level];

    search->index = (int)level;
    search->level = out;
    search->shape = &search->shapes[level];
    out->number = (uint32_t)level + 1;
    for (size_t i = 0; i < GEOMETRY_FINDINGS; i++)
        number_in(out, i)->method = geometry_findings[i].method;
    search_fetch(search);
    if (level == 0)
        search->step = out->fetch_bytes.value;
    if (!out->fetch_bytes.known)
        search_not_found(&out->fits_bytes, "%s", out->fetch_bytes.reason);
    else if (level && (!out[-1].fits_bytes.known || out->fetch_bytes.value % search->step))
        search_not_found(&out->fits_bytes, "the level before it is not known well enough to pass it");
    else
        search_fits(search);
    if (out->fits_bytes.known)
        search_shape(search);
    else
        search_no_shape(out, out->fits_bytes.reason);
}

static void search_open(struct search *search)
{
    uint32_t **const lists[LISTS] = {&search->address,  &search->group,    &search->missed,
                                     &search->answered, &search->clean,    &search->cold,
                                     &search->warm,     &search->expected, &search->load};
    const struct prober *prober = search->prober;
    const size_t swept_words = prober->samples_max / SWEEP_PASSES * SWEEP_STEP / WORD_BYTES;
    size_t words = prober->bytes / WORD_BYTES, swept, cycles;
    uint32_t *next;

    words = words < swept_words ? words : swept_words;
    words = words < prober->samples_max ? words : prober->samples_max;
    search->words = (uint32_t)words;
    /* The sweep's sizes are a geometric row of the quotient q: less than the largest / (1 - 1/q), 6.3 times it. */
    swept = SWEEP_PASSES * (words * 7 / (SWEEP_STEP / WORD_BYTES) + 1);
    cycles = swept > prober->samples_max ? swept : prober->samples_max;
    search->memory = calloc(2 * (swept + words) + (LISTS + 2) * words + swept + cycles, sizeof(double));
    if (!search->memory) {
        search->status = log_memory("walks of %zu accesses", words);
        return;
    }
    search->samples = search->memory;
    search->lines = (size_t *)(search->samples + 2 * (swept + words));
    next = (uint32_t *)(search->lines + words);
    for (size_t i = 0; i < LISTS; i++, next += words)
        *lists[i] = next;
    search->swept = next;
    search->cycles = search->swept + swept;
    search->judged = (uint8_t *)(search->cycles + cycles);
}

enum status geometry_find(const struct prober *prober, uint32_t levels_max, struct geometry *out)
{
    struct search search = {.prober = prober, .out = out, .random = 1};

    *out = (struct geometry){.searched_bytes = prober->bytes};
    search_open(&search);
    if (search.status == STATUS_OK)
        search_explore(&search);
    if (search.status == STATUS_OK)
        out->level_count = search.band_count < levels_max ? search.band_count : levels_max;
    search_latencies(&search);
    for (size_t level = 0; search.status == STATUS_OK && level < out->level_count; level++)
        find_level(&search, level);
    for (size_t i = 0; i < GEOMETRY_LEVELS_MAX; i++)
        free(search.shapes[i].set);
    free(search.memory);
    return search.status;
}
