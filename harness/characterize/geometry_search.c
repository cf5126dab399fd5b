/* SPDX-License-Identifier: MIT
 * Steps that every search for a geometry is made of: chase a list, say which level answered each
 * access by its cycles, and judge whether groups of lines fit. One miss may be an outlier, so a
 * group is judged by the passes in which none of its lines missed:
 *
 *   passes without a miss     0 to 10 %: it overflows     40 % or more: it fits     between: again
 */
#include "geometry_search.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* warm-up for policies that take long to keep a region that fits */
enum { CONVERGE_ACCESSES = 40000 };

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

void search_chase(struct search *search, size_t count, uint32_t warm_up, uint32_t timed)
{
    const struct probe_chase list = {search->address, count, warm_up, timed};

    if (search->status != STATUS_OK)
        return;
    search->out->chases++;
    search->out->accesses += count * (warm_up + timed);
    search->status = search->prober->chase(search->prober->context, &list, search->cycles);
}

int search_answered_by(const struct search *search, uint32_t cycles)
{
    for (uint32_t i = 0; i < search->band_count; i++)
        if (cycles >= search->bands[i].low && cycles <= search->bands[i].high)
            return (int)i;
    return NOBODY;
}

void search_count_misses(struct search *search, size_t count, uint32_t groups, uint32_t warm_up,
                         uint32_t passes)
{
    const size_t room = search->samples_max / count;

    memset(search->missed, 0, count * sizeof(*search->missed));
    for (uint32_t g = 0; g < groups; g++)
        search->clean[g] = passes;
    for (uint32_t done = 0, timed; done < passes; done += timed) {
        timed = passes - done < room ? passes - done : (uint32_t)room;
        search_chase(search, count, warm_up, timed);
        for (size_t k = 0; k < timed * count; k++) {
            const size_t i = k % count;
            const uint32_t group = search->group[i];
            const int by = search_answered_by(search, search->cycles[k]);

            if (i == 0)
                memset(search->judged, 0, groups);
            search->missed[i] += by > search->index;
            if (by > search->index && group < groups) {
                search->clean[group] -= !search->judged[group];
                search->judged[group] = 1;
            }
        }
    }
    search->passes = passes;
}

/* A single miss may be an outlier: a group overflows if hardly a pass is without a miss. If misses
 * come and go, a second round chases the list more often. */
void search_judge(struct search *search, size_t count, uint32_t groups)
{
    const uint32_t converge = (uint32_t)(CONVERGE_ACCESSES / count);
    const uint32_t warm_ups[] = {2, converge < 8 ? 8 : converge > 300 ? 300 : converge};
    bool wavers = true;

    for (uint32_t round = 0; round < 2 && wavers; round++) {
        const uint32_t passes = round ? 12 : 4;

        search_count_misses(search, count, groups, warm_ups[round], passes);
        wavers = false;
        for (uint32_t g = 0; g < groups; g++) {
            search->judged[g] = search->clean[g] * 10 >= passes * 4 ? FITS
                                : search->clean[g] * 10 <= passes   ? OVERFLOWS
                                                                    : UNCLEAR;
            wavers |= search->judged[g] == UNCLEAR;
        }
        for (size_t i = 0; i < count; i++)
            wavers |= search->missed[i] >= 2 && search->missed[i] + 1 < passes;
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

uint32_t search_set_of(const struct search *search, const struct shape *shape, uint32_t line)
{
    const uint32_t bytes = search->prober->bank_bytes;

    return line % shape->sets ^
           (bytes ? shape->swap[(uint64_t)line * shape->line_bytes / bytes] : 0);
}

uint32_t search_line_of(const struct search *search, uint32_t tag, uint32_t set)
{
    const uint32_t first = tag * search->shape->sets;

    return first + (set ^ search_set_of(search, search->shape, first));
}
