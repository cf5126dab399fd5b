/* SPDX-License-Identifier: MIT
 * Why a place takes as long as the model says: the term that is longest, in the numbers of the cell. */
#include <math.h>
#include <stdio.h>

#include "advise.h"
#include "sass.h"
#include "text.h"

/* What one request of a unit is, in words. */
static const struct unit_words {
    const char *asked;  /* requests of a load */
    const char *turns;  /* what they take */
} unit_words[] = {
    [UNIT_IDC] = {"addresses", "turns of the constant cache"},
    [UNIT_UNIFORM] = {"request", "turns of the uniform constant cache"},
    [UNIT_IMC] = {"request", "turns of the immediate constant cache"},
    [UNIT_L1] = {"sectors", "sectors from L1"},
    [UNIT_L2] = {"sectors", "sectors from L2, past L1"},
    [UNIT_TEXTURE] = {"sectors", "sectors through the texture unit"},
    [UNIT_SHARED] = {"turns", "turns of the banks of shared memory"},
    [UNIT_REGISTERS] = {"shuffles", "turns of the shuffle unit"},
    [UNIT_SELECT] = {"selections", "turns of the arithmetic units"},
};

static double term_unit(const struct model_parts *parts)
{
    return parts->serialization_ns + parts->misses_ns;
}

/* Requests of a load; of a table in registers, instructions. */
static struct text_number asked_each(const struct advised_place *place)
{
    const uint32_t instructions = path_held(place->path) ? image_pieces(&place->cell) : 1;

    return text_of(text_tenths, place->model.requests_per_load * instructions);
}

/* "32.0 addresses a load on average: as many turns of the constant cache". */
static void say_requests(const struct advised_place *place, char *text)
{
    const struct unit_words *words = &unit_words[place->path->unit];

    text_join(text, ADVISE_REASON_BYTES, "; ", "%s %s a load on average: as many %s", asked_each(place).text,
              words->asked, words->turns);
}

/* Where the lines of the table do not all stay in the first constant level. */
static void say_fills(const struct advised_place *place, const struct card *card, char *text)
{
    const struct card_level *level = &card->levels[0];

    if (place->path->unit == UNIT_IDC && place->model.footprint_bytes > level->capacity_bytes)
        text_join(
            text, ADVISE_REASON_BYTES, "; ",
            "%s bytes of the table are read, and the first level of the constant cache has %u: %s lines come anew",
            text_of(text_count, (double)place->model.footprint_bytes).text, level->capacity_bytes,
            text_of(text_count, round(place->model.levels.misses[0])).text);
}

static void say_copy(const struct advised_place *place, char *text)
{
    const uint32_t staged = cell_staged_bytes(&place->cell);

    if (staged > 0)
        text_join(text, ADVISE_REASON_BYTES, "; ", "each of %s blocks first copies %u bytes",
                  text_of(text_count, (double)place->access.blocks).text, staged);
}

void advise_find_reason(struct advised_place *place, const struct card *card)
{
    const struct model_parts *parts = &place->model.parts;
    const double unit = term_unit(parts);
    const double longest = fmax(fmax(parts->residency_ns, parts->issue_ns), fmax(unit, parts->stream_ns));
    char *text = place->reason;

    text[0] = '\0';
    if (isnan(place->time_ns)) {
        text_join(text, ADVISE_REASON_BYTES, "; ",
                  "%s %s a load on average; how many of them come from L1, L2 or memory is not modelled",
                  asked_each(place).text, unit_words[place->path->unit].asked);
    } else if (longest == unit) {
        say_requests(place, text);
    } else if (longest == parts->stream_ns) {
        text_join(text, ADVISE_REASON_BYTES, "; ",
                  "input and output take the time: %s%% of it; the loads hide behind them",
                  text_of(text_count, round(100 * parts->stream_ns / place->time_ns)).text);
    } else if (longest == parts->issue_ns) {
        text_join(text, ADVISE_REASON_BYTES, "; ", "issuing instructions takes the time, not the loads");
    } else if (place->path->unit == UNIT_SELECT) {
        text_join(text, ADVISE_REASON_BYTES, "; ",
                  "waiting takes the time, round after round, and the %s %s of each load, at which warps take turns",
                  asked_each(place).text, unit_words[UNIT_SELECT].asked);
    } else {
        text_join(text, ADVISE_REASON_BYTES, "; ",
                  "waiting takes the time, round after round; the loads, of %s %s each, hide behind it",
                  asked_each(place).text, unit_words[place->path->unit].asked);
    }
    say_fills(place, card, text);
    say_copy(place, text);
}
