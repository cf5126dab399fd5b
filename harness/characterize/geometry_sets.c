/* SPDX-License-Identifier: MIT
 * The search for the sets of a level: what fits, which lines are in one set, how many of them it holds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "geometry_search.h"
#include "log.h"
#include "random.h"

enum {
    MANY_ACCESSES = 100000, /* to see every line of a set missed where few are in a pass */
    LISTS_DRAWN = 6,        /* at random, to check what was found */
};

/* -- lists ------------------------------------------------------------------------------------------ */

/* The list of the first units of `unit` bytes, in one group. */
static size_t list_region(struct search *search, uint32_t units, uint32_t unit)
{
    const size_t count = (size_t)units * unit / search->step;

    for (size_t i = 0; i < count; i++) {
        search->address[i] = (uint32_t)i * search->step;
        search->group[i] = 0;
    }
    return count;
}

uint32_t search_set_of(const struct search *search, const struct shape *shape, uint32_t line)
{
    const uint32_t bytes = search->prober->bank_bytes;

    return line % shape->sets ^ (bytes ? shape->swap[(uint64_t)line * shape->line_bytes / bytes] : 0);
}

uint32_t search_line_of(const struct search *search, uint32_t tag, uint32_t set)
{
    const uint32_t first = tag * search->shape->sets;

    return first + (set ^ search_set_of(search, search->shape, first));
}

/* -- the largest region that fits ---------------------------------------------------------------------- */

void search_fits(struct search *search)
{
    struct geometry_number *fits = &search->level->fits_bytes;
    const uint32_t unit = search->level->fetch_bytes.value, most = search->words * WORD_BYTES / unit;
    const uint32_t first = (search_passes_before(search) + unit - 1) / unit;
    uint32_t low = 0, high = 0, units = first ? first : 1; /* fit, do not, are walked next */

    while (units <= most && low < most && high != low + 1 && (low || !high)) {
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
    if (low == 0 && high)
        search_not_found(fits, "already the smallest region that passes the levels before it, %u bytes, does not fit",
                         high * unit);
    else if (low == 0)
        search_not_found(fits, "%u bytes are too few to pass the levels before it", most * unit);
    else if (low == most)
        search_not_found(fits, "all of the %u bytes that could be walked fit", most * unit);
    else
        search_found(fits, low * unit, fits->samples);
}

/* -- sets --------------------------------------------------------------------------------------------- */

static uint32_t divisor(uint32_t a, uint32_t b)
{
    return b ? divisor(b, a % b) : a;
}

/* Runs of missed units: how long, how far apart. */
struct runs {
    uint32_t count, units; /* runs, and units in all of them */
    uint32_t length; /* of the first; 0: others differ (but for the last, which may be cut) */
    uint32_t apart; /* greatest common divisor of the distances of their starts */
    bool even; /* those are all equal */
};

static struct runs runs_of(const uint8_t *missed, uint32_t units)
{
    struct runs runs = {0, 0, 0, 0, true};

    for (uint32_t i = 0, end, before = 0; i < units; before = i, i = end) {
        while (i < units && !missed[i])
            i++;
        for (end = i; end < units && missed[end];)
            end++;
        if (i == end)
            break;
        runs.units += end - i;
        if (runs.count++) {
            runs.even = runs.even && (!runs.apart || runs.apart == i - before);
            runs.apart = divisor(runs.apart, i - before);
        }
        if (runs.count == 1)
            runs.length = end - i;
        else if (end - i != runs.length && (end < units || end - i > runs.length))
            runs.length = 0;
    }
    return runs;
}

/* Sets and lines: which units of the smallest region that does not fit are missed, those of one set. */
static void find_sets(struct search *search)
{
    struct geometry_level *out = search->level;
    const uint32_t unit = out->fetch_bytes.value, units = out->fits_bytes.value / unit + 1;
    const size_t count = list_region(search, units, unit);
    struct runs runs = {0};
    bool steady = false;

    for (uint32_t round = 0; round < 2 && !(steady && runs.count && runs.even); round++) {
        const uint32_t passes = round == 0 ? 8 : count < MANY_ACCESSES / 96 ? 96 : MANY_ACCESSES / count + 24;

        steady = true;
        search_count_misses(search, count, 1, round ? 16 : 4, passes);
        memset(search->judged, 0, units);
        for (size_t i = 0; i < count; i++) {
            steady = steady && (search->missed[i] < 2 || search->missed[i] + 1 >= passes);
            if (search->missed[i] >= (round ? 4 : passes - 1))
                search->judged[search->address[i] / unit] = 1;
        }
        runs = runs_of(search->judged, units);
    }
    out->sets.samples = count * search->passes;
    if (runs.units * 20 >= units * 19) {
        runs.length = runs.apart = 1;
    } else if (runs.count < 2 || runs.length == 0 || runs.apart % runs.length || runs.apart == 0) {
        search_no_shape(out, "the lines that miss when one more than fits is walked are not evenly spaced");
        return;
    }
    search->shape->line_bytes = runs.length * unit;
    search->shape->sets = runs.apart / runs.length;
}

/* -- ways --------------------------------------------------------------------------------------------- */

static uint32_t lines_of_set(uint32_t lines, uint32_t sets, uint32_t set)
{
    return lines / sets + (set < lines % sets);
}

/* How many lines of each set fit. Returns the accesses that it rests on. */
static size_t map_sets(struct search *search)
{
    struct shape *shape = search->shape;
    const uint32_t most = search->words * WORD_BYTES / shape->line_bytes, sets = shape->sets;
    uint32_t lines = search->level->fits_bytes.value / shape->line_bytes;
    size_t samples = 0;
    bool open = true;

    for (uint32_t set = 0; set < sets; set++)
        shape->set[set] = (struct set){lines_of_set(lines, sets, set), UINT32_MAX};
    for (uint32_t round = 0; round < search->prober->foreign_lines + 3 && lines < most && open; round++) {
        size_t count;

        lines = (lines / sets + 1) * sets;
        lines = lines < most ? lines : most;
        count = list_region(search, lines, shape->line_bytes);
        for (size_t i = 0; i < count; i++) /* the group of an access is its set */
            search->group[i] = search_set_of(search, shape, search->address[i] / shape->line_bytes);
        search_judge(search, count, sets);
        samples += count * search->passes;
        open = false;
        for (uint32_t set = 0; set < sets; set++) {
            const uint32_t held = lines_of_set(lines, sets, set);
            struct set *of = &shape->set[set];

            if (search->judged[set] == FITS && held > of->fits)
                of->fits = held;
            else if (search->judged[set] == OVERFLOWS && held < of->overflows)
                of->overflows = held;
            open |= of->overflows == UINT32_MAX;
        }
    }
    return samples;
}

/* Ways, and lines that others take, from the map. */
static void find_ways(struct search *search, size_t samples)
{
    static const char foreign[] = "others may hold a line of every set that could be filled";
    struct geometry_level *out = search->level;
    struct shape *shape = search->shape;
    uint32_t seen = 0, held = 0, most = 0, taken; /* sets of which it is known how many lines fit; lines that do */
    bool consistent = true;

    for (const struct set *set = shape->set; set < shape->set + shape->sets; set++) {
        const bool known = set->overflows == set->fits + 1;

        consistent = consistent && set->overflows > set->fits;
        seen += known;
        held += set->fits;
        most = set->fits > most ? set->fits : most;
        shape->ways = known && set->fits > shape->ways ? set->fits : shape->ways;
    }
    taken = shape->ways * shape->sets - held;
    if (!consistent || most > shape->ways || (seen == shape->sets && taken > search->prober->foreign_lines)) {
        search_no_shape(out, "sets differ in how many lines fit by more than others can hold");
        return;
    }
    shape->known = shape->ways > 0;
    search_found(&out->line_bytes, shape->line_bytes, out->sets.samples);
    search_found(&out->sets, shape->sets, out->sets.samples);
    if (seen <= search->prober->foreign_lines || shape->ways == 0) {
        search_not_found(&out->ways, "at least %u: %s", shape->ways, foreign);
        search_not_found(&out->capacity_bytes, "at least %u bytes: %s", out->fits_bytes.value, foreign);
        search_not_found(&out->lines_taken, "%s", foreign);
        return;
    }
    search_found(&out->ways, shape->ways, samples);
    search_found(&out->capacity_bytes, shape->ways * shape->sets * shape->line_bytes, samples);
    if (seen == shape->sets)
        search_found(&out->lines_taken, taken, samples);
    else
        search_not_found(&out->lines_taken, "only %u of %u sets could be filled with %u bytes", seen, shape->sets,
                         search->words * WORD_BYTES);
}

/* -- banks -------------------------------------------------------------------------------------------- */

/* Which line of a bank is in the first set of the first bank: the one, of the first `sets`, which as many lines of that
 * set as fit cannot be walked with. UINT32_MAX where it is not one. */
static uint32_t find_swap(struct search *search, uint32_t bank)
{
    const struct shape *shape = search->shape;
    const uint32_t fits = shape->set[0].fits, first = bank * (search->prober->bank_bytes / shape->line_bytes);
    uint32_t swap = UINT32_MAX;

    for (uint32_t i = 0; i < shape->sets; i++) {
        for (uint32_t tag = 0; tag <= fits; tag++) {
            search->address[tag] = (tag < fits ? tag * shape->sets : first + i) * shape->line_bytes;
            search->group[tag] = 0;
        }
        search_judge(search, fits + 1, 1);
        if (search->judged[0] == FITS)
            continue;
        if (swap != UINT32_MAX || search->judged[0] == UNCLEAR)
            return UINT32_MAX;
        swap = i;
    }
    return swap;
}

/* Of the first level. Behind it a list of a few lines is not asked for; there all banks are taken to be alike, and
 * lists drawn at random tell. */
static void find_banks(struct search *search)
{
    const uint32_t bytes = search->prober->bank_bytes, banks = bytes ? search->words * WORD_BYTES / bytes : 0;
    struct shape *shape = search->shape;
    uint32_t swap[GEOMETRY_BANKS_MAX] = {0};

    if (search->index || banks < 2 || banks > GEOMETRY_BANKS_MAX || shape->sets < 2 ||
        shape->sets & (shape->sets - 1) || shape->sets * shape->line_bytes * (shape->set[0].fits + 1) > bytes)
        return;
    for (uint32_t bank = 1; bank < banks; bank++) {
        swap[bank] = find_swap(search, bank);
        if (swap[bank] == UINT32_MAX)
            return;
    }
    memcpy(shape->swap, swap, sizeof(swap));
    memcpy(search->level->bank_swap, swap, sizeof(swap));
    search->level->bank_count = banks;
}

/* -- lists drawn at random ---------------------------------------------------------------------------- */

/* Adds the accesses to one line: a word of it in the first level; below, every word that asks for another line of the
 * first level, in one half of it. */
static size_t add_line(struct search *search, uint32_t line, size_t count)
{
    const uint32_t bytes = search->shape->line_bytes;
    uint32_t at = line * bytes, end = at + bytes;

    if (search->index == 0 || bytes < 2 * search->step) {
        at += (uint32_t)(random_next(&search->random) % (bytes / WORD_BYTES)) * WORD_BYTES;
        end = at + 1;
    } else if (random_next(&search->random) & 1) {
        at += bytes / 2 / search->step * search->step;
    } else {
        end -= bytes / 2;
    }
    for (; at < end; at += search->step) {
        search->address[count] = at;
        search->group[count++] = search_set_of(search, search->shape, line);
    }
    return count;
}

/* Draws lines of every set: of its lines every first, second or fourth, so that what was taken for lines and is parts
 * of larger ones shows. */
static size_t draw_list(struct search *search, uint32_t list)
{
    const uint32_t most = search->words * WORD_BYTES / search->shape->line_bytes, sets = search->shape->sets;
    const uint32_t every = 1 << list / 2;
    size_t count = 0, drawn = 0;

    for (uint32_t set = 0; set < sets; set++) {
        const struct set *of = &search->shape->set[set];
        const uint32_t there = (lines_of_set(most, sets, set) + every - 1) / every, fits = of->fits;
        const uint32_t least = list == 0 ? fits + 1 : fits > 1 ? fits - 1 : 1; /* the first: too many everywhere */
        uint32_t wanted = least + (uint32_t)(random_next(&search->random) % 4), taken = 0;

        wanted = list == 3 || list == 5 ? fits : wanted; /* nowhere too many */
        wanted = wanted < there ? wanted : there;
        for (uint32_t tag = 0; tag < there; tag++)
            if (random_next(&search->random) % (there - tag) < wanted - taken) {
                search->lines[drawn++] = search_line_of(search, tag * every, set);
                taken++;
            }
        search->expected[set] = taken <= fits ? FITS : taken >= of->overflows ? OVERFLOWS : UNCLEAR;
    }
    random_shuffle(&search->random, search->lines, drawn);
    for (size_t i = 0; i < drawn; i++)
        count = add_line(search, (uint32_t)search->lines[i], count);
    return count;
}

/* Takes OVERFLOWS back from sets whose accesses a level before may answer. */
static void expect_what_passes(struct search *search, size_t count)
{
    for (const struct shape *shape = search->shapes; shape < search->shape; shape++) {
        uint32_t *const load = search->load, last = UINT32_MAX;

        memset(load, 0, shape->sets * sizeof(*load));
        for (size_t i = 0; shape->known && i < count; i++) {
            const uint32_t line = search->address[i] / shape->line_bytes;

            load[search_set_of(search, shape, line)] += line != last;
            last = line;
        }
        for (size_t i = 0; i < count; i++) {
            uint32_t *const expected = &search->expected[search->group[i]];

            if (*expected == OVERFLOWS &&
                (!shape->known ||
                 load[search_set_of(search, shape, search->address[i] / shape->line_bytes)] <= shape->ways))
                *expected = UNCLEAR;
        }
    }
}

/* Compares lists drawn at random with what was found. */
static void check_shape(struct search *search)
{
    struct geometry_level *out = search->level;
    struct shape *shape = search->shape;
    uint32_t agree = 0, differ = 0, overflows = 0; /* sets that hit as expected and otherwise; expected not to fit */

    for (uint32_t list = 0; list < LISTS_DRAWN && search->status == STATUS_OK; list++) {
        const size_t count = draw_list(search, list);

        expect_what_passes(search, count);
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
    if (differ) {
        search_no_shape(out, "lists drawn at random do not hit as the sets that were found would");
        snprintf(out->contradiction, sizeof(out->contradiction),
                 "%u sets of %u lines of %u bytes: %u of %u sets of lists drawn at random hit otherwise", shape->sets,
                 shape->ways, shape->line_bytes, differ, agree + differ);
    } else if (!overflows) {
        search_no_shape(out,
                        "no list drawn at random passes the levels before it: what was found could not be checked");
    }
}

/* -- the shape of a level ------------------------------------------------------------------------------ */

void search_shape(struct search *search)
{
    struct geometry_level *out = search->level;
    struct shape *shape = search->shape;

    find_sets(search);
    if (shape->sets == 0)
        return;
    shape->set = calloc(shape->sets, sizeof(*shape->set));
    if (!shape->set) {
        search->status = log_memory("%u sets", shape->sets);
        return;
    }
    find_ways(search, map_sets(search));
    if (shape->known) {
        find_banks(search);
        check_shape(search);
    }
    if (shape->known && out->ways.known)
        search_replacement(search);
    else if (!out->ways.known)
        search_not_found(&out->replacement, "ways are not known");
    if (out->capacity_bytes.known && out->lines_taken.known && out->lines_taken.value == 0 &&
        out->fits_bytes.value != out->capacity_bytes.value)
        snprintf(out->contradiction, sizeof(out->contradiction),
                 "%u bytes fit, but ways x sets x line is %u bytes, with no line taken", out->fits_bytes.value,
                 out->capacity_bytes.value);
}
