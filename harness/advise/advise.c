/* SPDX-License-Identifier: MIT */
#include "advise.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "parallel.h"
#include "places.h"

const char *const advise_standing_names[ADVISE_STANDING_COUNT] = {
    [ADVISE_FIRST] = "best",          [ADVISE_ALIKE_FIRST] = "as good",
    [ADVISE_NO_FASTER] = "no faster", [ADVISE_TOO_CLOSE] = "too close to call",
    [ADVISE_SLOWER] = "slower",
};

/* -- places ------------------------------------------------------------------------------------------- */

/* Why the place cannot be. */
static bool place_obstacle(struct advised_place *place, const struct card *card)
{
    return cell_obstacle(&place->cell, 10 * card->cc_major + card->cc_minor, place->reason);
}

/* The paths that hold the table of `cell`, with their indices, then those that do not, with the reason. */
static enum status list_places(const struct cell *cell, const struct card *card, struct index_list *indices,
                               struct places *out)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; status == STATUS_OK && i < path_count; i++) {
        const struct index_array *array;
        struct advised_place place = {.path = &paths[i], .cell = *cell};

        place.cell.path = &paths[i];
        if (!paths[i].loads || place_obstacle(&place, card))
            continue;
        status = index_list_give(indices, &place.cell, &array);
        model_set_grid(&place.cell, card);
        out->rows[out->count++] = place;
    }
    for (size_t i = 0; i < path_count; i++) {
        struct advised_place *place = &out->rows[out->count + out->excluded];

        place->cell = *cell;
        place->cell.path = place->path = &paths[i];
        out->excluded += paths[i].loads && place_obstacle(place, card);
    }
    return status;
}

static const struct cell *place_cell(const void *rows, size_t index)
{
    return &((const struct advised_place *)rows)[index].cell;
}

struct predicting {
    struct places *places;
    const struct card *card;
    enum status status[PLACES_MAX];
};

static void predict_range(void *context, uint64_t first, uint64_t count)
{
    struct predicting *predicting = context;

    for (uint64_t i = first; i < first + count; i++) {
        struct advised_place *place = &predicting->places->rows[i];

        predicting->status[i] = model_predict(&place->cell, &place->access, predicting->card, NULL, &place->model);
        place->time_ns = place->model.time_ns;
        place->low_ns = place->time_ns / (1 + advise_time_error(place->path->unit));
        place->high_ns = place->time_ns * (1 + advise_time_error(place->path->unit));
    }
}

enum status places_predict(const struct cell *cell, const struct card *card, struct index_list *indices,
                           struct places *out)
{
    struct predicting predicting = {.places = out, .card = card};
    struct access_counts access[PLACES_MAX] = {0};
    enum status status = list_places(cell, card, indices, out);

    for (size_t i = 0; status == STATUS_OK && i < out->count; i++) {
        status = access_count_next(place_cell, out->rows, i, access);
        out->rows[i].access = access[i];
    }
    if (status == STATUS_OK)
        parallel_ranges(out->count, 1, predict_range, &predicting);
    for (size_t i = 0; i < out->count; i++)
        status = status_worse(status, predicting.status[i]);
    return status;
}

/* -- ranking ------------------------------------------------------------------------------------------ */

bool advised_place_is_sure(const struct advised_place *place)
{
    return place->measured || advise_error_known(place->path->unit);
}

/* Of equal times the one that paths.def has first. A prediction that no measurement was ever held against is behind all others:
 * nothing is advised by it. */
static int compare_places(const void *left, const void *right)
{
    const struct advised_place *a = left, *b = right;
    const int time = (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
    const int order = advised_place_is_sure(a) != advised_place_is_sure(b)
                          ? advised_place_is_sure(b) - advised_place_is_sure(a)
                          : time;

    return order ? order : (a->path > b->path) - (a->path < b->path);
}

static enum advise_standing standing_of(const struct advised_place *place, double told)
{
    const double least = place->relative / (1 + place->ratio_error), most = place->relative * (1 + place->ratio_error);

    if (least < 1 - told)
        return ADVISE_TOO_CLOSE;
    if (most <= 1 + told)
        return ADVISE_ALIKE_FIRST;
    return least > 1 ? ADVISE_SLOWER : ADVISE_NO_FASTER;
}

/* See struct advised_place. */
static double apart_of(const struct advised_place *place, const struct advised_place *first)
{
    double parts[sizeof(struct model_parts) / sizeof(double)], firsts[sizeof(parts) / sizeof(parts[0])], sum = 0;

    memcpy(parts, &place->model.parts, sizeof(parts));
    memcpy(firsts, &first->model.parts, sizeof(firsts));
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        sum += fabs(parts[i] - firsts[i]);
    return sum / fmax(place->model.time_ns, first->model.time_ns);
}

/* Half of an interval, as a share of its place's time. */
static double half_width(const struct advised_place *place)
{
    return (place->high_ns - place->low_ns) / 2 / place->time_ns;
}

void advise_rank(struct advice *advice)
{
    const struct advised_place *first = advice->places;

    qsort(advice->places, advice->count, sizeof(*advice->places), compare_places);
    advice->told = advice->modelled ? ADVISE_TOLD_MODELLED : ADVISE_TOLD_MEASURED;
    for (size_t i = 0; i < advice->count; i++) {
        struct advised_place *place = &advice->places[i];

        place->relative = place->time_ns / first->time_ns;
        place->apart = apart_of(place, first);
        place->ratio_error = advice->modelled ? advise_ratio_error(first->path->unit, place->path->unit, place->apart)
                                              : half_width(first) + half_width(place);
        place->standing = place == first ? ADVISE_FIRST : standing_of(place, advice->told);
    }
    if (advice->count > 0)
        advice->places[0].ratio_error = 0;
}

const struct advised_place *advise_predicted_choice(const struct advice *advice)
{
    const struct advised_place *choice = NULL;

    for (size_t i = 0; i < advice->count; i++) {
        const struct advised_place *place = &advice->places[i];
        const double time = place->predicted.time_ns;

        if (place->predicted.known && advise_error_known(place->path->unit) &&
            (!choice || time < choice->predicted.time_ns ||
             (time == choice->predicted.time_ns && place->path < choice->path)))
            choice = place;
    }
    return choice;
}

bool advise_is_close(const struct advice *advice)
{
    for (size_t i = 0; i < advice->count; i++)
        if (advice->places[i].standing == ADVISE_TOO_CLOSE)
            return true;
    return false;
}

/* -- advice ------------------------------------------------------------------------------------------- */

/* No path can be. Each says why; the largest table is the remedy where this one is larger. */
static enum status refuse(const struct places *places)
{
    const bool loaded = places->rows[0].cell.workload->index == INDEX_LOADED;
    const struct advised_place *roomiest = places->rows;
    uint32_t most = 0;

    for (size_t i = 0; i < places->excluded; i++) {
        const struct path *path = places->rows[i].path;
        const uint32_t bytes = loaded ? path_largest(path) : path->bytes;

        if (bytes > most) {
            roomiest = &places->rows[i];
            most = bytes;
        }
    }
    if (table_bytes(roomiest->path, roomiest->cell.parameters) <= most)
        return log_error(STATUS_USAGE, "no path can make these lookups: %s; change what that names", roomiest->reason);
    return log_error(STATUS_USAGE,
                     "no path can hold this table: %s; the largest has %" PRIu32 " bytes: name a smaller "
                     "--table-bytes",
                     places->rows[0].reason, most);
}

enum status advise_open(const struct cell *cell, const struct card *card, struct index_list *indices,
                        struct advice *out)
{
    struct places places = {.rows = calloc(path_count + 1, sizeof(*places.rows))};
    struct advice advice = {
        .card = card, .cell = *cell, .modelled = true, .places = places.rows, .first_level = &card->levels[0]};
    enum status status =
        places.rows ? places_predict(cell, card, indices, &places) : log_memory("%zu places", path_count);

    if (status == STATUS_OK && places.count == 0)
        status = refuse(&places);
    advice.count = places.count;
    advice.excluded = places.excluded;
    if (status != STATUS_OK) {
        advise_close(&advice);
        return status;
    }
    advise_rank(&advice);
    for (size_t i = 0; i < advice.count; i++)
        advise_find_reason(&advice.places[i], card);
    *out = advice;
    return status;
}

void advise_close(struct advice *advice)
{
    free(advice->places);
    advice->places = NULL;
}
