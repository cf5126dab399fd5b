/* SPDX-License-Identifier: MIT */
#include "advise.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "image.h"
#include "log.h"
#include "table.h"

const char *const advise_standing_names[ADVISE_STANDING_COUNT] = {
    [ADVISE_FIRST] = "best",    [ADVISE_ALIKE_FIRST] = "as good", [ADVISE_TOO_CLOSE] = "too close to call",
    [ADVISE_SLOWER] = "slower", [ADVISE_UNKNOWN] = "not known",
};

static const struct place_code codes[] = {
#define PLACE(path, declaration, load) {#path, declaration, load},
#include "places.def"
};

const struct place_code *place_code_of(const struct path *path)
{
    static const size_t count = sizeof(codes) / sizeof(codes[0]);
    static const struct table table = TABLE("place", codes, count);

    return table_find(&table, path->name);
}

/* -- ranking ------------------------------------------------------------------------------------------ */

/* Places by their times; equal times stay in the order of paths.def. A lower bound does not rank: those places come
 * after all times. */
static int compare_places(const void *left, const void *right)
{
    const struct advised_place *a = left, *b = right;
    const bool a_known = !isnan(a->estimate.time_ns.value), b_known = !isnan(b->estimate.time_ns.value);
    const double a_ns = a_known ? a->estimate.time_ns.value : a->estimate.time_ns.low,
                 b_ns = b_known ? b->estimate.time_ns.value : b->estimate.time_ns.low;

    if (a_known != b_known)
        return b_known - a_known;
    return a_ns != b_ns ? (a_ns > b_ns) - (a_ns < b_ns) : (a->path > b->path) - (a->path < b->path);
}

void advise_rank(struct advice *advice)
{
    const struct advised_place *first = advice->places;

    qsort(advice->places, advice->count, sizeof(*advice->places), compare_places);
    for (struct advised_place *place = advice->places; place < advice->places + advice->count; place++) {
        place->relative = place->estimate.time_ns.value / first->estimate.time_ns.value;
        place->standing = isnan(place->relative)                                       ? ADVISE_UNKNOWN
                          : place == first                                             ? ADVISE_FIRST
                          : place->relative <= 1 + ADVISE_TOLD                         ? ADVISE_ALIKE_FIRST
                          : place->estimate.time_ns.low > first->estimate.time_ns.high ? ADVISE_SLOWER
                                                                                       : ADVISE_TOO_CLOSE;
    }
}

/* -- advice ------------------------------------------------------------------------------------------- */

static const struct cell *place_cell(const void *rows, size_t index)
{
    return &((const struct advised_place *)rows)[index].cell;
}

/* Fails because no path can hold the table. Each path gives its reason; if the table is too large, the largest possible
 * one is the remedy. */
static enum status refuse(const struct advice *advice)
{
    const bool loaded = advice->cell.workload->index == INDEX_LOADED;
    const struct advised_place *roomiest = advice->places;
    uint32_t most = 0;

    for (const struct advised_place *place = advice->places; place < advice->places + advice->excluded; place++) {
        const uint32_t bytes = loaded ? path_largest(place->path) : place->path->bytes;

        if (bytes > most) {
            roomiest = place;
            most = bytes;
        }
    }
    if (table_bytes(roomiest->path, roomiest->cell.parameters) <= most)
        return log_error(STATUS_USAGE, "no path can make these lookups: %s; change what that names%s", roomiest->reason,
                         loaded ? "" : ", or name a --source, which takes a table of any number of entries");
    return log_error(STATUS_USAGE,
                     "no path can hold this table: %s; the largest has %" PRIu32 " bytes: name a smaller --table-bytes",
                     advice->places[0].reason, most);
}

/* Estimates the time with the card, and with the kernel's code for its chip if the program has it. */
static void estimate(struct advised_place *place, const struct card *card)
{
    struct kernel_sass sass;
    struct expectation expectation = {.cell = &place->cell, .access = &place->access};
    struct time_kernel kernel;
    struct image image;

    if (image_for_chip(place->cell.workload->name, card->cc_major, card->cc_minor, &image) &&
        image_kernel(image.data, image.bytes, &place->cell, &sass) && sass.counted)
        expectation.sass = &sass.counts;
    kernel = estimate_kernel(&expectation);
    estimate_time(&place->cell, &place->access, card, &kernel, &place->estimate);
    place->requests_per_load = access_requests_per_load(&place->cell, &place->access);
    place->bound = time_units[place->estimate.longest].name;
}

/* Counts and estimates the paths that hold the table. The others follow, with the reason. */
static enum status fill_places(struct advice *advice, struct index_list *indices)
{
    const uint32_t architecture = 10 * advice->card.cc_major + advice->card.cc_minor;
    struct access_counts *counts = calloc(path_count, sizeof(*counts));
    enum status status = counts ? STATUS_OK : log_memory("the counts of %zu paths", path_count);

    for (const struct path *path = paths; status == STATUS_OK && path < paths + path_count; path++) {
        struct advised_place place = {.path = path, .cell = advice->cell};
        struct advised_place *to = &advice->places[advice->count];
        const struct index_array *array;

        place.cell.path = path;
        if (!path->loads || cell_obstacle(&place.cell, architecture, place.reason))
            continue;
        status = index_list_give(indices, &place.cell, &array);
        card_set_grid(&advice->card, &place.cell);
        *to = place;
        if (status == STATUS_OK)
            status = access_count_next(place_cell, advice->places, advice->count, counts);
        to->access = counts[advice->count++];
        if (status != STATUS_OK)
            break;
        estimate(to, &advice->card);
    }
    for (const struct path *path = paths; path < paths + path_count; path++) {
        struct advised_place *place = &advice->places[advice->count + advice->excluded];

        *place = (struct advised_place){.path = path, .cell = advice->cell};
        place->cell.path = path;
        advice->excluded += path->loads && cell_obstacle(&place->cell, architecture, place->reason);
    }
    free(counts);
    return status == STATUS_OK && advice->count == 0 ? refuse(advice) : status;
}

enum status advise_open(const struct cell *cell, const struct card *card, struct index_list *indices,
                        const char *indices_path, struct advice *out)
{
    const struct advised_place *of; /* whose load is one instruction */
    enum status status;
    double loads;

    *out = (struct advice){.card = *card, .cell = *cell, .indices_path = indices_path};
    out->places = calloc(path_count + 1, sizeof(*out->places));
    status = out->places ? fill_places(out, indices) : log_memory("%zu paths", path_count);
    if (status == STATUS_OK) {
        advise_rank(out);
        of = out->places;
        out->choice = out->places[0].standing == ADVISE_FIRST ? out->places[0].path->name : NULL;
        while (of + 1 < out->places + out->count && (image_pieces(&of->cell) > 1 || of->path->copies > 1))
            of++;
        loads = (double)of->access.payload_loads;
        out->facts = (struct advised_facts){(double)of->access.addresses / loads, (double)of->access.lines / loads,
                                            (double)of->access.sectors / loads, (double)of->access.wavefronts / loads,
                                            of->access.footprint_bytes};
        out->measure = advise_run_command(out);
        status = out->measure ? STATUS_OK : log_memory("a command");
    }
    if (status != STATUS_OK)
        advise_close(out);
    return status;
}

void advise_close(struct advice *advice)
{
    free(advice->places);
    free(advice->measure);
    *advice = (struct advice){0};
}
