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

static uint32_t swap_of(const struct search *search, const struct shape *shape, uint32_t line)
{
    const uint32_t bytes = search->prober->bank_bytes;

    return bytes ? shape->swap[(uint64_t)line * shape->line_bytes / bytes] : 0;
}

uint32_t search_set_of(const struct search *search, const struct shape *shape, uint32_t line)
{
    return line % shape->sets ^ swap_of(search, shape, line);
}

uint32_t search_line_of(const struct search *search, const struct shape *shape, uint32_t tag, uint32_t set)
{
    return tag * shape->sets + (set ^ swap_of(search, shape, tag * shape->sets));
}

/* The list of the first lines; the group of an access is its set. */
static size_t list_lines(struct search *search, const struct shape *shape, uint32_t lines)
{
    const size_t count = list_region(search, lines, shape->line_bytes);

    for (size_t i = 0; i < count; i++)
        search->group[i] = search_set_of(search, shape, search->address[i] / shape->line_bytes);
    return count;
}

/* -- the largest region that fits ---------------------------------------------------------------------- */

void search_fits(struct search *search, size_t level)
{
    struct geometry_number *fits = &search->out->level[level].fits_bytes;
    const uint32_t unit = search->out->level[level].fetch_bytes.value;
    const uint32_t most = search->words * WORD_BYTES / unit;
    const uint32_t first = (search_passes_before(search, level) + unit - 1) / unit;
    uint32_t low = 0, high = 0; /* fit, do not */

    for (uint32_t units = first ? first : 1; units <= most; units = high               ? (low + high) / 2
                                                                    : units * 2 < most ? units * 2
                                                                                       : most) {
        size_t count;

        count = list_region(search, units, unit);
        search_judge(search, level, count, 1);
        if (search->judged[0] == UNCLEAR) {
            search_not_found(fits, "too noisy: whether %u bytes fit cannot be told", units * unit);
            return;
        }
        if (search->judged[0] == FITS)
            low = units;
        else
            high = units;
        fits->samples = count * search->passes;
        if (low == most || high == low + 1 || (!low && high))
            break;
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
    while (b) {
        const uint32_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
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
    uint32_t start = 0, before = 0;

    for (uint32_t i = 0; i < units; i++) {
        if (!missed[i])
            continue;
        runs.units++;
        if (i == 0 || !missed[i - 1]) {
            start = i;
            if (runs.count++) {
                runs.even = runs.even && (!runs.apart || runs.apart == i - before);
                runs.apart = divisor(runs.apart, i - before);
            }
            before = i;
        }
        if (i + 1 == units || !missed[i + 1]) {
            const uint32_t length = i + 1 - start;

            if (runs.count == 1)
                runs.length = length;
            else if (length != runs.length && (i + 1 < units || length > runs.length))
                runs.length = 0;
        }
    }
    return runs;
}

/* Which units of the smallest region that does not fit are missed: those of one set. */
static void find_sets(struct search *search, size_t level, uint32_t *unit_per_line, uint32_t *sets)
{
    struct geometry_level *out = &search->out->level[level];
    const uint32_t unit = out->fetch_bytes.value;
    const uint32_t units = out->fits_bytes.value / unit + 1;
    const size_t count = list_region(search, units, unit);
    struct runs runs = {0};

    *sets = 0;
    for (uint32_t round = 0; round < 2; round++) {
        const uint32_t passes = round == 0 ? 8 : count < MANY_ACCESSES / 96 ? 96 : MANY_ACCESSES / count + 24;
        bool steady = true;

        search_count_misses(search, level, count, 1, round ? 16 : 4, passes);
        memset(search->judged, 0, units);
        for (size_t i = 0; i < count; i++) {
            steady = steady && (search->missed[i] < 2 || search->missed[i] + 1 >= passes);
            if (search->missed[i] >= (round ? 4 : passes - 1))
                search->judged[search->address[i] / unit] = 1;
        }
        runs = runs_of(search->judged, units);
        if (steady && runs.count && runs.even)
            break;
    }
    out->sets.samples = count * search->passes;
    if (runs.units * 20 >= units * 19) {
        *unit_per_line = 1;
        *sets = 1;
    } else if (runs.count < 2 || runs.length == 0 || runs.apart % runs.length || runs.apart == 0) {
        search_no_shape(out, "the lines that miss when one more than fits is walked are not evenly spaced");
    } else {
        *unit_per_line = runs.length;
        *sets = runs.apart / runs.length;
    }
}

/* -- ways --------------------------------------------------------------------------------------------- */

static uint32_t lines_of_set(uint32_t lines, uint32_t sets, uint32_t set)
{
    return lines / sets + (set < lines % sets);
}

/* How many lines of each set fit. Returns the accesses that it rests on. */
static size_t map_sets(struct search *search, size_t level)
{
    const struct geometry_level *out = &search->out->level[level];
    struct shape *shape = &search->shapes[level];
    const uint32_t most = search->words * WORD_BYTES / shape->line_bytes;
    const uint32_t fit = out->fits_bytes.value / shape->line_bytes;
    uint32_t lines = fit;
    size_t samples = 0;

    for (uint32_t set = 0; set < shape->sets; set++) {
        shape->fits[set] = lines_of_set(fit, shape->sets, set);
        shape->overflows[set] = UINT32_MAX;
    }
    for (uint32_t round = 0; round < search->prober->foreign_lines + 3 && lines < most; round++) {
        size_t count;
        bool open = false;

        lines = (lines / shape->sets + 1) * shape->sets;
        lines = lines < most ? lines : most;
        count = list_lines(search, shape, lines);
        search_judge(search, level, count, shape->sets);
        samples += count * search->passes;
        for (uint32_t set = 0; set < shape->sets; set++) {
            const uint32_t held = lines_of_set(lines, shape->sets, set);

            if (search->judged[set] == FITS && held > shape->fits[set])
                shape->fits[set] = held;
            else if (search->judged[set] == OVERFLOWS && held < shape->overflows[set])
                shape->overflows[set] = held;
            open |= shape->overflows[set] == UINT32_MAX;
        }
        if (!open)
            break;
    }
    return samples;
}

bool search_resolved(const struct shape *shape, uint32_t set)
{
    return shape->overflows[set] == shape->fits[set] + 1;
}

/* Ways, and lines that others take, from the map; *seen: sets of which it is known how many lines fit. False where sets
 * differ by more than others can hold. */
static bool count_ways(const struct search *search, struct shape *shape, uint32_t *seen, uint32_t *taken)
{
    bool consistent = true;

    shape->ways = *seen = *taken = 0;
    for (uint32_t set = 0; set < shape->sets; set++) {
        consistent = consistent && shape->overflows[set] > shape->fits[set];
        if (!search_resolved(shape, set))
            continue;
        (*seen)++;
        shape->ways = shape->fits[set] > shape->ways ? shape->fits[set] : shape->ways;
    }
    for (uint32_t set = 0; set < shape->sets; set++) {
        consistent = consistent && shape->fits[set] <= shape->ways;
        *taken += shape->ways > shape->fits[set] ? shape->ways - shape->fits[set] : 0;
    }
    return consistent && (*seen < shape->sets || *taken <= search->prober->foreign_lines);
}

static void find_ways(struct search *search, size_t level, size_t samples)
{
    static const char foreign[] = "others may hold a line of every set that could be filled";
    struct geometry_level *out = &search->out->level[level];
    struct shape *shape = &search->shapes[level];
    uint32_t seen, taken;

    if (!count_ways(search, shape, &seen, &taken)) {
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
static uint32_t find_swap(struct search *search, size_t level, uint32_t bank)
{
    const struct shape *shape = &search->shapes[level];
    const uint32_t fits = shape->fits[0], first = bank * (search->prober->bank_bytes / shape->line_bytes);
    uint32_t swap = UINT32_MAX;

    for (uint32_t i = 0; i < shape->sets; i++) {
        for (uint32_t tag = 0; tag <= fits; tag++) {
            search->address[tag] = (tag < fits ? tag * shape->sets : first + i) * shape->line_bytes;
            search->group[tag] = 0;
        }
        search_judge(search, level, fits + 1, 1);
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
static void find_banks(struct search *search, size_t level)
{
    const uint32_t bytes = search->prober->bank_bytes, banks = bytes ? search->words * WORD_BYTES / bytes : 0;
    struct geometry_level *out = &search->out->level[level];
    struct shape *shape = &search->shapes[level];
    uint32_t swap[GEOMETRY_BANKS_MAX] = {0};

    if (level || banks < 2 || banks > GEOMETRY_BANKS_MAX || shape->sets < 2 || shape->sets & (shape->sets - 1) ||
        shape->sets * shape->line_bytes * (shape->fits[0] + 1) > bytes)
        return;
    for (uint32_t bank = 1; bank < banks; bank++) {
        swap[bank] = find_swap(search, level, bank);
        if (swap[bank] == UINT32_MAX)
            return;
    }
    memcpy(shape->swap, swap, sizeof(swap));
    memcpy(out->bank_swap, swap, sizeof(swap));
    out->bank_count = banks;
}

/* -- lists drawn at random ---------------------------------------------------------------------------- */

/* Adds the accesses to one line: a word of it in the first level; below, every word that asks for another line of the
 * first level, in one half of it. */
static size_t add_line(struct search *search, size_t level, uint32_t line, size_t count)
{
    const struct shape *shape = &search->shapes[level];
    const uint32_t bytes = shape->line_bytes;
    uint32_t at = line * bytes, end = at + bytes;

    if (level == 0 || bytes < 2 * search->step) {
        at += (uint32_t)(random_next(&search->random) % (bytes / WORD_BYTES)) * WORD_BYTES;
        end = at + 1;
    } else if (random_next(&search->random) & 1) {
        at += bytes / 2 / search->step * search->step;
    } else {
        end -= bytes / 2;
    }
    for (; at < end; at += search->step) {
        search->address[count] = at;
        search->group[count++] = search_set_of(search, shape, line);
    }
    return count;
}

/* Draws lines of every set: of its lines every first, second or fourth, so that what was taken for lines and is parts
 * of larger ones shows. In expected[set]: FITS, OVERFLOWS or UNCLEAR. `lines` is room for words. */
static size_t draw_list(struct search *search, size_t level, uint32_t list, uint8_t *expected, size_t *lines)
{
    const struct shape *shape = &search->shapes[level];
    const uint32_t most = search->words * WORD_BYTES / shape->line_bytes;
    const uint32_t every = list < 2 ? 1 : list < 4 ? 2 : 4;
    size_t count = 0, drawn = 0;

    for (uint32_t set = 0; set < shape->sets; set++) {
        const uint32_t there = (lines_of_set(most, shape->sets, set) + every - 1) / every;
        const uint32_t fits = shape->fits[set];
        const uint32_t least = list == 0 ? fits + 1 : fits > 1 ? fits - 1 : 1; /* the first: too many everywhere */
        uint32_t wanted = least + (uint32_t)(random_next(&search->random) % 4);
        uint32_t passed = 0, taken = 0;

        wanted = list == 3 || list == 5 ? fits : wanted; /* nowhere too many */
        wanted = wanted < there ? wanted : there;
        for (uint32_t tag = 0; tag < there; tag++, passed++)
            if (random_next(&search->random) % (there - passed) < wanted - taken) {
                lines[drawn++] = search_line_of(search, shape, tag * every, set);
                taken++;
            }
        expected[set] = taken <= shape->fits[set] ? FITS : taken >= shape->overflows[set] ? OVERFLOWS : UNCLEAR;
    }
    random_shuffle(&search->random, lines, drawn);
    for (size_t i = 0; i < drawn; i++)
        count = add_line(search, level, (uint32_t)lines[i], count);
    return count;
}

/* Takes OVERFLOWS back from sets whose accesses a level before may answer. `load` is room for a count of each set. */
static void expect_what_passes(struct search *search, size_t level, size_t count, uint8_t *expected, uint32_t *load)
{
    for (uint32_t before = 0; before < level; before++) {
        const struct shape *shape = &search->shapes[before];
        uint32_t last = UINT32_MAX;

        memset(load, 0, (shape->known ? shape->sets : 1) * sizeof(*load));
        for (size_t i = 0; shape->known && i < count; i++) {
            const uint32_t line = search->address[i] / shape->line_bytes;

            load[search_set_of(search, shape, line)] += line != last;
            last = line;
        }
        for (size_t i = 0; i < count; i++)
            if (expected[search->group[i]] == OVERFLOWS &&
                (!shape->known ||
                 load[search_set_of(search, shape, search->address[i] / shape->line_bytes)] <= shape->ways))
                expected[search->group[i]] = UNCLEAR;
    }
}

/* What lists drawn at random said. */
struct check {
    uint32_t agree, differ, overflows; /* sets that hit as expected, and otherwise; those expected not to fit */
    uint8_t *expected; /* owned: of each set */
    uint32_t *load; /* owned: room for a count of each set */
    size_t *lines; /* owned: room for the lines that are drawn */
};

static void check_list(struct search *search, size_t level, uint32_t list, struct check *check)
{
    const size_t count = draw_list(search, level, list, check->expected, check->lines);
    const struct shape *shape = &search->shapes[level];

    expect_what_passes(search, level, count, check->expected, check->load);
    search_judge(search, level, count, shape->sets);
    for (uint32_t set = 0; set < shape->sets; set++) {
        if (check->expected[set] == UNCLEAR || search->judged[set] == UNCLEAR)
            continue;
        check->agree += check->expected[set] == search->judged[set];
        check->differ += check->expected[set] != search->judged[set];
        check->overflows += check->expected[set] == OVERFLOWS;
    }
    search->out->level[level].ways.samples += count * search->passes;
}

static void check_shape(struct search *search, size_t level)
{
    struct geometry_level *out = &search->out->level[level];
    struct shape *shape = &search->shapes[level];
    struct check check = {.expected = malloc(search->words),
                          .load = malloc(search->words * sizeof(*check.load)),
                          .lines = malloc(search->words * sizeof(*check.lines))};

    if (!check.expected || !check.load || !check.lines)
        search->status = log_error(STATUS_ENVIRONMENT, "out of memory for a list of addresses; free some memory");
    for (uint32_t list = 0; list < LISTS_DRAWN && search->status == STATUS_OK; list++)
        check_list(search, level, list, &check);
    if (check.differ) {
        shape->known = false;
        search_no_shape(out, "lists drawn at random do not hit as the sets that were found would");
        snprintf(out->contradiction, sizeof(out->contradiction),
                 "%u sets of %u lines of %u bytes: %u of %u sets of lists drawn at random hit otherwise", shape->sets,
                 shape->ways, shape->line_bytes, check.differ, check.agree + check.differ);
    } else if (!check.overflows) {
        shape->known = false;
        search_no_shape(out,
                        "no list drawn at random passes the levels before it: what was found could not be checked");
    }
    free(check.expected);
    free(check.load);
    free(check.lines);
}

/* -- the shape of a level ------------------------------------------------------------------------------ */

static void check_capacity(struct geometry_level *level)
{
    const uint32_t capacity = level->capacity_bytes.value;
    const uint32_t fits = level->fits_bytes.value;

    if (level->capacity_bytes.known && level->lines_taken.known && level->lines_taken.value == 0 && fits != capacity)
        snprintf(level->contradiction, sizeof(level->contradiction),
                 "%u bytes fit, but ways x sets x line is %u bytes, with no line taken", fits, capacity);
}

void search_shape(struct search *search, size_t level)
{
    struct geometry_level *out = &search->out->level[level];
    struct shape *shape = &search->shapes[level];
    uint32_t unit_per_line = 0;

    find_sets(search, level, &unit_per_line, &shape->sets);
    if (shape->sets == 0)
        return;
    shape->line_bytes = unit_per_line * out->fetch_bytes.value;
    shape->fits = calloc(shape->sets, sizeof(*shape->fits));
    shape->overflows = calloc(shape->sets, sizeof(*shape->overflows));
    if (!shape->fits || !shape->overflows) {
        search->status = log_error(STATUS_ENVIRONMENT, "out of memory for %u sets; free some memory", shape->sets);
        return;
    }
    find_ways(search, level, map_sets(search, level));
    if (shape->known)
        find_banks(search, level);
    if (shape->known)
        check_shape(search, level);
    if (shape->known && out->ways.known)
        search_replacement(search, level);
    else if (!out->ways.known)
        search_not_found(&out->replacement, "ways are not known");
    check_capacity(out);
}
