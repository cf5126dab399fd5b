/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advise_view.h"
#include "log.h"
#include "sass.h"
#include "text.h"

enum { LINE_BYTES = 1024 };

/* -- what was asked ------------------------------------------------------------------------------------ */

static void print_source(const struct advice *advice, const struct advise_view *view)
{
    const struct card *card = advice->card;
    const struct device_info *device = &advice->device;

    if (advice->modelled) {
        advise_put(view, "card: %s; all times are modelled, nothing was measured", card->name);
        return;
    }
    advise_put(view, "measured on %s; %s by the card of %s", device->name,
               advise_predicted_choice(advice) ? "predicted" : "not predicted", card->name);
    if (device->cc_major != card->cc_major || device->cc_minor != card->cc_minor || device->sm_count != card->sm_count)
        advise_put(view,
                   "the card is of another GPU: its predictions are not of this one, whose own card --card names");
}

static void print_asked(const struct advise_view *view)
{
    const struct cell *cell = &view->advice->cell;
    const uint32_t width = table_width(cell->parameters), bytes = cell->parameters[PARAMETER_table_bytes];
    char indices[LINE_BYTES] = "";

    text_join(indices, LINE_BYTES, "", "%s",
              view->advice->indices_path ? view->advice->indices_path : cell->pattern->name);
    for (size_t i = 0; i < parameter_count; i++)
        if (cell->pattern->takes >> i & 1)
            text_join(indices, LINE_BYTES, ", ", "%s %" PRIu32, parameters[i].name, cell->parameters[i]);
    advise_put(view, "table: %" PRIu32 " bytes, %" PRIu32 " entries of %" PRIu32, bytes, bytes / width, width);
    advise_put(view, "lookups: %" PRIu64 " elements x %" PRIu32 ", blocks of %" PRIu32 ", indices: %s", cell->elements,
               workload_steps(cell->workload, cell->parameters), cell->block_size, indices);
    print_source(view->advice, view);
}

/* -- ranking ------------------------------------------------------------------------------------------- */

static void interval_value(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const struct advised_place *place = row;

    (void)column;
    snprintf(out->room, sizeof(out->room), "%s to %s", text_of(text_time, place->low_ns).text,
             text_of(text_time, place->high_ns).text);
    out->text = out->room;
}

static void standing_value(const struct grid_column *column, const void *row, struct grid_value *out)
{
    static const enum grid_style styles[ADVISE_STANDING_COUNT] = {[ADVISE_FIRST] = GRID_GOOD,
                                                                  [ADVISE_ALIKE_FIRST] = GRID_GOOD,
                                                                  [ADVISE_NO_FASTER] = GRID_PLAIN,
                                                                  [ADVISE_TOO_CLOSE] = GRID_DOUBT};
    const struct advised_place *place = row;

    (void)column;
    out->text = advise_standing_names[place->standing];
    out->style = styles[place->standing];
}

static void path_value(const struct grid_column *column, const void *row, struct grid_value *out)
{
    (void)column;
    out->text = ((const struct advised_place *)row)->path->name;
}

static void predicted_value(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const struct advised_place *place = row;
    const struct advised_prediction *predicted = &place->predicted;

    (void)column;
    if (!predicted->known)
        return;
    snprintf(out->room, sizeof(out->room), "%s%s", text_of(text_time, predicted->time_ns).text,
             predicted->off ? ", off" : "");
    out->text = out->room;
}

static bool reason_note(const void *row, size_t index, char *out, size_t bytes)
{
    const struct advised_place *place = row;
    const bool said = isnan(place->time_ns) || advised_place_is_sure(place);

    snprintf(out, bytes, "%s%s", place->reason, said ? "" : "; how far the model is off there was never measured");
    return index == 0;
}

#define NUMBER(key_, heading_, format_, member) \
    {.key = key_,                               \
     .heading = heading_,                       \
     .format = format_,                         \
     .value = grid_number,                      \
     .of = GRID_MEMBER(struct advised_place, member)}

static const struct grid_column columns[] = {
    {.key = "path", .heading = "place", .value = path_value, .head = true},
    NUMBER("time_ns", "time", text_time, time_ns),
    {.key = "interval", .heading = "interval", .value = interval_value, .rank = 1},
    NUMBER("relative", "to the best", text_ratio, relative),
    {.key = "standing", .heading = "", .value = standing_value},
    /* Of what was measured. */
    {.key = "predicted", .heading = "predicted", .value = predicted_value, .rank = 2},
};

static enum status print_places(const struct advise_view *view)
{
    const struct grid grid = {.columns = columns,
                              .column_count = sizeof(columns) / sizeof(columns[0]) - view->advice->modelled,
                              .rows = view->advice->places,
                              .row_count = view->advice->count,
                              .row_bytes = sizeof(*view->advice->places),
                              .note = reason_note};

    fputc('\n', view->stream);
    return grid_print(view->stream, &grid, &view->look);
}

static void print_excluded(const struct advise_view *view)
{
    const struct advice *advice = view->advice;

    fputs(advice->excluded ? "\n" : "", view->stream);
    for (size_t i = 0; i < advice->excluded; i++)
        advise_put(view, "not %s: %s", advice->places[advice->count + i].path->name,
                   advice->places[advice->count + i].reason);
}

/* -- what the model had said --------------------------------------------------------------------------- */

static void print_off(const struct advise_view *view)
{
    const struct advice *advice = view->advice;
    const struct advised_place *choice = advise_predicted_choice(advice);

    for (size_t i = 0; i < advice->count; i++) {
        const struct advised_place *place = &advice->places[i];

        if (place->predicted.off)
            advise_put(view, "off: %s takes %s of what was predicted, which is beyond the error of %s to %s",
                       place->path->name, text_of(text_share, place->time_ns / place->predicted.time_ns).text,
                       text_of(text_time, place->predicted.low_ns).text,
                       text_of(text_time, place->predicted.high_ns).text);
    }
    if (choice && choice->standing == ADVISE_SLOWER)
        advise_put(view, "the model would have chosen %s, which takes %s the time of %s", choice->path->name,
                   text_of(text_ratio, choice->relative).text, advice->places[0].path->name);
}

/* -- the command that measures ------------------------------------------------------------------------- */

bool advise_run_command(const struct advice *advice, struct memory *out)
{
    const struct cell *cell = &advice->cell;
    const bool loaded = cell->workload->index == INDEX_LOADED;
    FILE *stream = memory_open(out);

    if (!stream)
        return false;
    fprintf(stream, "cbank run --workload %s --path ", cell->workload->name);
    for (size_t i = 0; i < advice->count; i++)
        if (advice->places[i].standing != ADVISE_SLOWER)
            fprintf(stream, "%s%s", i ? "," : "", advice->places[i].path->name);
    if (advice->indices_path) {
        fputs(" --indices", stream);
        text_put_word(stream, advice->indices_path);
    } else {
        fprintf(stream, " --%s %s --elements %" PRIu64, loaded ? "source" : "pattern", cell->pattern->name,
                cell->elements);
    }
    fprintf(stream, " --block-size %" PRIu32, cell->block_size);
    for (size_t i = 0; i < parameter_count; i++)
        if (cell->parameters[i] && !(advice->indices_path && i == PARAMETER_loads))
            fprintf(stream, " --%s %" PRIu32, parameters[i].option, cell->parameters[i]);
    return memory_close(out, stream);
}

/* -- advice -------------------------------------------------------------------------------------------- */

/* The names of the places that stand so, with commas. */
static size_t list_standing(const struct advice *advice, enum advise_standing standing, char text[LINE_BYTES])
{
    size_t count = 0;

    text[0] = '\0';
    for (size_t i = 0; i < advice->count; i++)
        if (advice->places[i].standing == standing) {
            text_join(text, LINE_BYTES, ", ", "%s", advice->places[i].path->name);
            count++;
        }
    return count;
}

static enum status print_choice(const struct advise_view *view)
{
    const struct advice *advice = view->advice;
    const struct advised_place *first = &advice->places[0];
    const struct place_code *code = place_code_of(first->path);
    struct memory command;
    char names[LINE_BYTES];

    if (!advise_run_command(advice, &command))
        return log_memory("a command");

    fputc('\n', view->stream);
    advise_put(view, "best: %s", first->path->name);
    if (list_standing(advice, ADVISE_ALIKE_FIRST, names))
        advise_put(view, "as good, within %.0f %%: %s", 100 * advice->told, names);
    if (list_standing(advice, ADVISE_NO_FASTER, names))
        advise_put(view, "not faster by %.0f %%: %s", 100 * advice->told, names);
    if (list_standing(advice, ADVISE_TOO_CLOSE, names))
        advise_put(view, "too close to call: %s", names);
    if (code) {
        advise_put(view, "write: %s", code->declaration);
        advise_put(view, "       %s", code->load);
    }
    advise_put(view, "look for in the SASS: %s", image_instruction(&first->cell));
    advise_put(view, advice->modelled ? "measure: %s" : "again, with counters: %s", command.text);
    free(command.text);
    return STATUS_OK;
}

static void print_stretches(const struct advise_view *view)
{
    const struct advice *advice = view->advice;
    char line[LINE_BYTES] = "";

    fputs(advice->stretch_count ? "\n" : "", view->stream);
    for (size_t i = 0; i < advice->stretch_count; i++) {
        const struct advised_stretch *stretch = &advice->stretches[i];

        if (!line[0])
            text_join(line, LINE_BYTES, "", "%sbest along %s:", advice->modelled ? "" : "by the model, ",
                      advise_axis_names[stretch->axis]);
        text_join(line, LINE_BYTES, line[strlen(line) - 1] == ':' ? " " : ", ", "%s ", stretch->path->name);
        text_join(line, LINE_BYTES, "",
                  stretch->first == stretch->last ? "at %" PRIu32 : "from %" PRIu32 " to %" PRIu32, stretch->first,
                  stretch->last);
        text_join(line, LINE_BYTES, "", "%s", stretch->close ? " (not surely)" : "");
        if (i + 1 < advice->stretch_count && stretch[1].axis == stretch->axis)
            continue;
        advise_put(view, "%s; of %" PRIu64 " elements", line, stretch->elements);
        line[0] = '\0';
    }
}

enum status advise_print(FILE *stream, const struct advice *advice, const struct grid_look *look)
{
    const struct advise_view view = {.stream = stream, .advice = advice, .look = *look};
    enum status status;

    print_asked(&view);
    status = print_places(&view);
    if (status != STATUS_OK)
        return status;
    print_excluded(&view);
    if (!advice->modelled)
        print_off(&view);
    status = print_choice(&view);
    if (status != STATUS_OK)
        return status;
    print_stretches(&view);
    return advise_print_code(&view);
}
