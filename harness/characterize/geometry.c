/* SPDX-License-Identifier: MIT
 * The search, in its order. A sweep shows the levels by their times. For each level, these follow:
 * the bytes that a miss brings in, the largest region that fits, sets and ways, banks, and a check
 * by random lists. */
#include "geometry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "geometry_search.h"
#include "log.h"
#include "random.h"

enum {
    SPACINGS_MIN = 8,       /* misses needed to determine a spacing */
    MANY_ACCESSES = 100000, /* enough to see every line of a set missed, even with few in a pass */
    LISTS_DRAWN = 6, /* at random, to check the findings */
};

#define AT(member) #member, offsetof(struct geometry_level, member)

const struct geometry_finding geometry_findings[GEOMETRY_FINDINGS] = {
    {AT(fetch_bytes), false, "bytes",
     "spacing of the misses of a pointer chase over all words, cold and warm"},
    {AT(line_bytes), true, "bytes",
     "length of the runs of misses of the smallest region that does not fit"},
    {AT(fits_bytes), false, "bytes",
     "bisection: regions visited again and again, who answers each access"},
    {AT(capacity_bytes), true, "bytes", "ways x sets x line"},
    {AT(ways), true, "lines",
     "most lines of one set that all hit, each set by itself; lists drawn at random"},
    {AT(sets), true, "sets",
     "spacing of the misses of the smallest region that does not fit; lists at random"},
    {AT(lines_taken), true, "lines", "ways less the lines that fit, over all sets"},
    {AT(replacement), true, "bits of the policies that it can be",
     "random visits to more lines of a set than fit: which of them miss; simulated caches that do"},
};

struct geometry_number *geometry_number(const struct geometry_level *level,
                                        const struct geometry_finding *finding)
{
    return (struct geometry_number *)((char *)level + finding->offset);
}

double geometry_behind(const struct geometry *geometry, size_t level)
{
    return (geometry->level[level].latency.value + geometry->level[level + 1].latency.value) / 2;
}

/* Gives one reason to all numbers that follow from lines, ways and sets. */
static void no_shape(struct geometry_level *level, const char *reason)
{
    for (size_t i = 0; i < GEOMETRY_FINDINGS; i++)
        if (geometry_findings[i].of_shape)
            search_not_found(geometry_number(level, &geometry_findings[i]), "%s", reason);
}

/* -- all words -------------------------------------------------------------------------------- */

/* Chases all words, from `first` around to the one before it. Sets cycles[word]. */
static void chase_all(struct search *search, uint32_t first, uint32_t warm_up, uint32_t *cycles)
{
    for (uint32_t i = 0; i < search->words; i++)
        search->address[i] = (first + i) % search->words * WORD_BYTES;
    search_chase(search, search->words, warm_up, 1);
    for (uint32_t i = 0; i < search->words; i++) {
        cycles[(first + i) % search->words] = search->cycles[i];
        search->count[search->cycles[i] < CYCLES_MAX ? search->cycles[i] : CYCLES_MAX] += 1;
    }
}

/* -- what one miss brings ---------------------------------------------------------------------- */

/* The spacing of the level's misses in a chase over all words that finds the caches empty. It is
 * the one that covers most of the memory between misses. The most frequent one may be wrong: near
 * other cached lines, every word may miss. */
static void find_fetch(struct search *search)
{
    struct geometry_number *fetch = &search->level->fetch_bytes;
    uint32_t *const spacings = search->missed, count = 0, last = search->words, best = 0;
    uint64_t all = 0;

    for (uint32_t i = 0; i < search->words; i++)
        if (search_answered_by(search, search->cold[i]) > search->index) {
            spacings[count] = i - last;
            all += last < i ? i - last : 0;
            count += last < i; /* the first one has none before it */
            last = i;
        }
    stats_sort_uint32(spacings, count);
    for (uint32_t i = 0, n = 0; i < count && count >= SPACINGS_MIN; i++) {
        n = i && spacings[i] == spacings[i - 1] ? n + 1 : 1;
        if ((uint64_t)n * spacings[i] * 100 >= all * 85)
            best = spacings[i];
    }
    if (best)
        search_found(fetch, best * WORD_BYTES, 2 * (size_t)search->words);
    else if (count == 0)
        search_not_found(fetch, "nothing slower was seen in pointer chases over %u bytes",
                         search->words * WORD_BYTES);
    else
        search_not_found(fetch,
                         "misses of a pointer chase over all %u bytes have no one spacing, or are "
                         "too few",
                         search->words * WORD_BYTES);
}

/* -- the largest region that fits -------------------------------------------------------------- */

/* Lists the first units of `unit` bytes, in one group. */
static size_t list_region(struct search *search, uint32_t units, uint32_t unit)
{
    const size_t count = (size_t)units * unit / search->step;

    for (size_t i = 0; i < count; i++) {
        search->address[i] = (uint32_t)i * search->step;
        search->group[i] = 0;
    }
    return count;
}

static void find_fits(struct search *search)
{
    struct geometry_number *fits = &search->level->fits_bytes;
    const uint32_t unit = search->level->fetch_bytes.value,
                   most = search->words * WORD_BYTES / unit;
    const uint32_t first = (search_passes_before(search) + unit - 1) / unit;
    uint32_t low = 0, high = 0, units = first ? first : 1; /* fits, does not fit, is chased next */

    while (units <= most && low < most && high != low + 1) {
        const size_t count = list_region(search, units, unit);

        search_judge(search, count, 1);
        if (search->judged[0] == UNCLEAR) {
            search_not_found(fits, "too noisy: whether %u bytes fit cannot be told", units * unit);
            return;
        }
        *(search->judged[0] == FITS ? &low : &high) = units;
        fits->samples = count * search->passes;
        units = high ? (low + high) / 2 : units * 2 < most ? units * 2 : most;
    }
    if (low == 0)
        search_not_found(fits, "no region of up to %u bytes passes the levels before it and fits",
                         most * unit);
    else if (low == most)
        search_not_found(fits, "all of the %u bytes that could be visited fit", most * unit);
    else
        search_found(fits, low * unit, fits->samples);
}

/* -- sets and lines ---------------------------------------------------------------------------- */

static uint32_t divisor(uint32_t a, uint32_t b)
{
    return b ? divisor(b, a % b) : a;
}

/* The smallest region that does not fit misses the units of one set: these give the line, and the
 * distance at which sets repeat. */
static void find_sets(struct search *search)
{
    struct geometry_level *out = search->level;
    const uint32_t unit = out->fetch_bytes.value, units = out->fits_bytes.value / unit + 1;
    const size_t count = list_region(search, units, unit);
    /* Runs of missed units: their number, and all of their units. Then the length of the first, 0
     * if others differ, except the last, which may be cut. Last, the greatest common divisor of the
     * distances of their starts. */
    uint32_t runs = 0, missed = 0, length = 0, apart = 0;
    bool steady = false;

    for (uint32_t round = 0; round < 2 && !(steady && runs); round++) {
        const uint32_t passes = round == 0                   ? 8
                                : count < MANY_ACCESSES / 96 ? 96
                                                             : MANY_ACCESSES / count + 24;

        steady = true;
        runs = missed = length = apart = 0;
        search_count_misses(search, count, 1, round ? 16 : 4, passes);
        memset(search->judged, 0, units);
        for (size_t i = 0; i < count; i++) {
            steady = steady && (search->missed[i] < 2 || search->missed[i] + 1 >= passes);
            if (search->missed[i] >= (round ? 4 : passes - 1))
                search->judged[search->address[i] / unit] = 1;
        }
        for (uint32_t i = 0, end, before = 0; i < units; i = end + 1) {
            for (end = i; end < units && search->judged[end];)
                end++;
            if (i == end)
                continue;
            missed += end - i;
            if (runs++) {
                apart = divisor(apart, i - before);
                length = end - i == length || (end == units && end - i < length) ? length : 0;
            } else {
                length = end - i;
            }
            before = i;
        }
    }
    out->sets.samples = count * search->passes;
    if (missed * 20 >= units * 19) {
        length = apart = 1;
    } else if (runs < 2 || length == 0 || apart % length) {
        no_shape(out,
                 "the lines that miss when one more than fits is visited are not evenly spaced");
        return;
    }
    search->shape->line_bytes = length * unit;
    search->shape->sets = apart / length;
}

/* -- ways -------------------------------------------------------------------------------------- */

static uint32_t lines_of_set(uint32_t lines, uint32_t sets, uint32_t set)
{
    return lines / sets + (set < lines % sets);
}

/* Chases a region with one more line in each set than fits. The ways are the lines that fit. */
static void find_ways(struct search *search)
{
    struct geometry_level *out = search->level;
    struct shape *shape = search->shape;
    const uint32_t sets = shape->sets, fit = out->fits_bytes.value / shape->line_bytes;
    const uint32_t all = search->words * WORD_BYTES / shape->line_bytes,
                   more = (fit / sets + 1) * sets;
    const uint32_t lines = more < all ? more : all;
    const size_t count = list_region(search, lines, shape->line_bytes);
    uint32_t seen = 0, held = 0,
             /* sets that overflowed by one line; lines that fit, in all sets and in one */
        most = 0;
    bool agree = true;

    for (size_t i = 0; i < count; i++) /* the group of an access is its set */
        search->group[i] = search_set_of(search, shape, search->address[i] / shape->line_bytes);
    search_judge(search, count, sets);
    for (uint32_t i = 0; i < sets; i++) {
        const uint32_t in_set = lines_of_set(lines, sets, i), fits = lines_of_set(fit, sets, i);
        struct set *set = &shape->set[i];

        set->fits = search->judged[i] == FITS ? in_set : fits;
        set->overflows = search->judged[i] == OVERFLOWS ? in_set : UINT32_MAX;
        held += set->fits;
        most = set->fits > most ? set->fits : most;
        agree = agree && set->overflows > set->fits;
        if (set->overflows == set->fits + 1) {
            seen++;
            shape->ways = set->fits > shape->ways ? set->fits : shape->ways;
        }
    }
    shape->known =
        agree && shape->ways && most == shape->ways && (seen < sets || held == shape->ways * sets);
    if (!shape->known) {
        no_shape(out, "sets differ in how many lines fit");
        return;
    }
    search_found(&out->line_bytes, shape->line_bytes, out->sets.samples);
    search_found(&out->sets, sets, out->sets.samples);
    search_found(&out->ways, shape->ways, count * search->passes);
    search_found(&out->capacity_bytes, shape->ways * sets * shape->line_bytes,
                 count * search->passes);
    if (seen == sets)
        search_found(&out->lines_taken, 0, count * search->passes);
    else
        search_not_found(&out->lines_taken, "only %u of %u sets could be filled with %u bytes",
                         seen, sets, search->words * WORD_BYTES);
}

/* -- banks ------------------------------------------------------------------------------------- */

/* Finds, for each bank, the line in the first set of the first bank: the one among the first `sets`
 * lines that evicts from a full set. Only for the first level: such a short list does not reach a
 * later level. There all banks are assumed to be alike, and random lists check that. */
static void find_banks(struct search *search)
{
    const uint32_t bytes = search->prober->bank_bytes,
                   banks = bytes ? search->words * WORD_BYTES / bytes : 0;
    struct shape *shape = search->shape;
    const uint32_t fits = shape->set[0].fits;
    uint32_t swap[GEOMETRY_BANKS_MAX] = {0};

    if (search->index || banks < 2 || banks > GEOMETRY_BANKS_MAX || shape->sets < 2 ||
        shape->sets & (shape->sets - 1) || shape->sets * shape->line_bytes * (fits + 1) > bytes)
        return;
    for (uint32_t bank = 1; bank < banks; bank++) {
        swap[bank] = UINT32_MAX;
        for (uint32_t i = 0; i < shape->sets; i++) {
            for (uint32_t tag = 0; tag < fits; tag++)
                search->address[tag] = tag * shape->sets * shape->line_bytes;
            search->address[fits] =
                bank * (bytes / shape->line_bytes) * shape->line_bytes + i * shape->line_bytes;
            memset(search->group, 0, (fits + 1) * sizeof(*search->group));
            search_judge(search, fits + 1, 1);
            if (search->judged[0] == FITS)
                continue;
            if (swap[bank] != UINT32_MAX || search->judged[0] == UNCLEAR)
                return;
            swap[bank] = i;
        }
        if (swap[bank] == UINT32_MAX)
            return;
    }
    memcpy(shape->swap, swap, sizeof(swap));
}

/* -- lists drawn at random --------------------------------------------------------------------- */

/* Draws lines of every set for a list, and says which sets they should overflow. The first list has
 * too many in every set, two later ones nowhere. Later lists take every second or fourth line, to
 * reveal halves of larger lines. Returns how many lines were drawn. */
static size_t draw_lines(struct search *search, uint32_t list)
{
    const struct shape *shape = search->shape;
    const uint32_t most = search->words * WORD_BYTES / shape->line_bytes, every = 1 << list / 2;
    size_t drawn = 0;

    for (uint32_t set = 0; set < shape->sets; set++) {
        const uint32_t fits = shape->set[set].fits;
        const uint32_t there = (lines_of_set(most, shape->sets, set) + every - 1) / every;
        const uint32_t least = list == 0 ? fits + 1 : fits > 1 ? fits - 1 : 1;
        uint32_t wanted = least + (uint32_t)(random_next(&search->random) % 4), taken = 0;

        wanted = list == 3 || list == 5 ? fits : wanted;
        wanted = wanted < there ? wanted : there;
        for (uint32_t tag = 0; tag < there; tag++)
            if (random_next(&search->random) % (there - tag) < wanted - taken) {
                search->lines[drawn++] = search_line_of(search, tag * every, set);
                taken++;
            }
        search->expected[set] = taken <= fits                        ? FITS
                                : taken >= shape->set[set].overflows ? OVERFLOWS
                                                                     : UNCLEAR;
    }
    random_shuffle(&search->random, search->lines, drawn);
    return drawn;
}

/* Lists accesses to the drawn lines, and returns how many. In the first level, one word stands for
 * a line. In a later level, every word of one half that requests another line of the first level
 * does. */
static size_t list_lines(struct search *search, size_t drawn)
{
    const uint32_t bytes = search->shape->line_bytes;
    size_t count = 0;

    for (size_t i = 0; i < drawn; i++) {
        const uint32_t line = (uint32_t)search->lines[i];
        uint32_t address = line * bytes, end = address + bytes;

        if (search->index == 0 || bytes < 2 * search->step) {
            address += (uint32_t)(random_next(&search->random) % (bytes / WORD_BYTES)) * WORD_BYTES;
            end = address + 1;
        } else if (random_next(&search->random) & 1) {
            address += bytes / 2 / search->step * search->step;
        } else {
            end -= bytes / 2;
        }
        for (; address < end; address += search->step) {
            search->address[count] = address;
            search->group[count++] = search_set_of(search, search->shape, line);
        }
    }
    return count;
}

/* Compares lists of random lines of every set with the findings. */
static void check_shape(struct search *search)
{
    struct geometry_level *out = search->level;
    struct shape *shape = search->shape;
    /* sets that hit as expected, or not; sets expected to overflow */
    uint32_t agree = 0, differ = 0, overflows = 0;

    for (uint32_t list = 0; list < LISTS_DRAWN && search->status == STATUS_OK; list++) {
        const size_t count = list_lines(search, draw_lines(search, list));

        search_judge(search, count, shape->sets);
        for (uint32_t set = 0; set < shape->sets; set++) {
            if (search->expected[set] == UNCLEAR || search->judged[set] == UNCLEAR)
                continue;
            agree += search->expected[set] == search->judged[set];
            differ += search->expected[set] != search->judged[set];
            overflows += search->expected[set] == OVERFLOWS;
        }
        out->ways.samples += count * search->passes;
    }
    shape->known = !differ && overflows;
    if (!shape->known)
        no_shape(out, "no list drawn at random hits as the sets that were found would");
    if (differ)
        snprintf(out->contradiction, sizeof(out->contradiction),
                 "%u sets of %u lines of %u bytes: %u of %u sets of lists drawn at random hit "
                 "otherwise",
                 shape->sets, shape->ways, shape->line_bytes, differ, agree + differ);
}

/* -- all --------------------------------------------------------------------------------------- */

enum status geometry_find(const struct prober *prober, uint32_t levels_max, struct geometry *out)
{
    struct search *search = calloc(1, sizeof(*search));
    enum status status;
    size_t words = prober->bytes / WORD_BYTES;

    *out = (struct geometry){.searched_bytes = prober->bytes};
    if (!search)
        return log_memory("a search for caches");
    search->prober = prober;
    search->out = out;
    search->random = 1;
    search->samples_max = prober->samples_max < SAMPLES_MAX ? prober->samples_max : SAMPLES_MAX;
    if (words > search->samples_max / SWEEP_PASSES * SWEEP_STEP / WORD_BYTES)
        words = search->samples_max / SWEEP_PASSES * SWEEP_STEP / WORD_BYTES;
    search->words = (uint32_t)(words < search->samples_max ? words : search->samples_max);
    /* The first chase of all finds nothing in the caches. The second one starts elsewhere: effects
     * of time, unlike those of the address, are then elsewhere, too. */
    chase_all(search, 0, 0, search->cold);
    chase_all(search, 2743 % search->words, 1, search->load);
    search_levels(search, levels_max);
    for (size_t i = 0; search->status == STATUS_OK && i < out->level_count; i++) {
        struct geometry_level *level = search->level = &out->level[i];
        struct shape *shape = search->shape = &search->shapes[i];

        search->index = (int)i;
        for (size_t k = 0; k < GEOMETRY_FINDINGS; k++)
            geometry_number(level, &geometry_findings[k])->method = geometry_findings[k].method;
        find_fetch(search);
        if (i == 0)
            search->step = level->fetch_bytes.value;
        if (!level->fetch_bytes.known)
            search_not_found(&level->fits_bytes, "%s", level->fetch_bytes.reason);
        else if (i && (!level[-1].fits_bytes.known || level->fetch_bytes.value % search->step))
            search_not_found(&level->fits_bytes,
                             "the level before it is not known well enough to pass it");
        else
            find_fits(search);
        if (level->fits_bytes.known)
            find_sets(search);
        else
            no_shape(level, level->fits_bytes.reason);
        if (shape->sets)
            find_ways(search);
        if (shape->known) {
            find_banks(search);
            check_shape(search);
        }
        if (shape->known)
            search_replacement(search);
    }
    status = search->status;
    free(search);
    return status;
}
