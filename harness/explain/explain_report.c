/* SPDX-License-Identifier: MIT */
#include "explain_report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "identity_json.h"
#include "json.h"
#include "text.h"

static const char schema_name[] = "cbank-explanation";
static const char schema_version[] = "1.0";

enum {
    NAME_WIDTH = 26,
    PART_WIDTH = 10,   /* of a part that overlaps with nothing */
    TERM_WIDTH = 13,   /* of a term of one part, of two: */
    TERMS_WIDTH = 24,
    COUNT_WIDTH = 14,
    MODELLED_WIDTH = 30, /* room for two counts with "to" between */
    REASON_WIDTH = 16,
    TEXT_BYTES = 96,
};

static const char red[] = "\033[31m", bold[] = "\033[1m", plain[] = "\033[0m";

struct view {
    FILE *stream;
    const struct explanation *explanation;
    bool color;
};

static const char *styled(const struct view *view, const char *style)
{
    return view->color ? style : "";
}

static bool is_wanted(const struct explained_cell *cell, const char *part)
{
    char identity[CELL_IDENTITY_BYTES];

    cell_identity(&cell->cell->cell, identity);
    return !part || strstr(identity, part);
}

/* What the times in the file are. */
static const char *time_word(const struct view *view)
{
    return view->explanation->result->modelled_time ? "in the file" : "measured";
}

/* -- time --------------------------------------------------------------------------------------------- */

static void print_time(const struct view *view, const struct explained_cell *cell)
{
    const struct cell_result *own = cell->cell;
    char measured[TEXT_NUMBER_BYTES], width[TEXT_NUMBER_BYTES], predicted[TEXT_NUMBER_BYTES],
        remainder[TEXT_NUMBER_BYTES];

    text_time(cell->model.time_ns, predicted);
    if (!isfinite(cell->remainder)) {
        fprintf(view->stream, "  %s%snot timed, modelled %s\n", own->reason[0] ? "" : cell_status_names[own->status],
                own->reason[0] ? "" : ": ", predicted);
        return;
    }
    text_time(own->time.summary.median, measured);
    text_half_width(stats_relative_half_width(&own->time.summary), width);
    text_change(cell->remainder, remainder);
    fprintf(view->stream, "  %s %s", time_word(view), measured);
    if (!view->explanation->result->modelled_time)
        fprintf(view->stream, " %s", width);
    fprintf(view->stream, ", modelled %s, remainder %s%+.0f ns, %s%s\n", predicted,
            styled(view, explain_is_over(cell) ? red : ""), cell->remainder_ns, remainder,
            styled(view, explain_is_over(cell) ? plain : ""));
}

/* Appends text with " + " before it unless it is the first. */
static void append_sum(char out[TEXT_BYTES], const char *text)
{
    const size_t used = strlen(out);

    snprintf(out + used, TEXT_BYTES - used, "%s%s", used ? " + " : "", text);
}

/* The parts of a term: their names, or without `names` their times. Returns how many there are. */
static size_t format_term(const struct model_parts *parts, int term, bool names, char out[TEXT_BYTES])
{
    size_t count = 0;

    out[0] = '\0';
    for (size_t i = 0; i < EXPLAIN_PARTS; i++) {
        char time[TEXT_NUMBER_BYTES];

        if (explain_parts[i].term != term)
            continue;
        text_time(explain_part_ns(parts, i), time);
        append_sum(out, names ? explain_parts[i].name : time);
        count++;
    }
    return count;
}

/* A line of the parts: their names, or their times, the longest term in brackets. */
static void print_parts_line(const struct view *view, const struct explained_cell *cell, bool names)
{
    const struct model_parts *parts = &cell->model.parts;
    char text[TEXT_BYTES], enclosed[TEXT_BYTES + 2];

    fputs("  ", view->stream);
    for (size_t i = 0; i < EXPLAIN_PARTS; i++)
        if (explain_parts[i].term == EXPLAIN_TERM_ALONE) {
            text_time(explain_part_ns(parts, i), text);
            fprintf(view->stream, "%*s", PART_WIDTH, names ? explain_parts[i].name : text);
        }
    fputs(" |", view->stream);
    for (int term = 0; term < EXPLAIN_TERMS; term++) {
        const bool bound = !names && term == cell->bound;
        const size_t count = format_term(parts, term, names, text);
        const int width = count > 1 ? TERMS_WIDTH : TERM_WIDTH;

        snprintf(enclosed, sizeof(enclosed), bound ? "[%s]" : names ? "%s" : "(%s)", text);
        fprintf(view->stream, "%*s%s%s%s", width > (int)strlen(enclosed) ? width - (int)strlen(enclosed) : 0, "",
                styled(view, bound ? bold : ""), enclosed, styled(view, bound ? plain : ""));
    }
    fputc('\n', view->stream);
}

/* -- counters ----------------------------------------------------------------------------------------- */

/* A count: whole, or with one decimal where the model gives a part of one. */
static void format_count(double value, char out[TEXT_NUMBER_BYTES])
{
    if (isfinite(value))
        snprintf(out, TEXT_NUMBER_BYTES, "%.*f", value != round(value), value);
    else
        snprintf(out, TEXT_NUMBER_BYTES, "-");
}

static void print_counter_line(const struct view *view, const char *name, double measured, const char *modelled,
                               enum explain_verdict verdict, double difference)
{
    const char *style = verdict == EXPLAIN_DIFFERS ? red : "";
    char text[TEXT_NUMBER_BYTES];

    format_count(measured, text);
    fprintf(view->stream, "  %-*s%*s%*s  ", NAME_WIDTH, name, COUNT_WIDTH, text, MODELLED_WIDTH, modelled);
    if (verdict == EXPLAIN_DIFFERS) {
        text_change(difference / fabs(measured), text);
        fprintf(view->stream, "%s%+.*f, %s%s", styled(view, style), difference != round(difference), difference, text,
                styled(view, plain));
    } else {
        fputs(verdict == EXPLAIN_UNKNOWN ? "-" : explain_verdict_names[verdict], view->stream);
    }
    fputc('\n', view->stream);
}

static void print_heading(const struct view *view, const char *name, const char *modelled)
{
    fprintf(view->stream, "  %-*s%*s%*s\n", NAME_WIDTH, name, COUNT_WIDTH, time_word(view), MODELLED_WIDTH, modelled);
}

static void print_exact(const struct view *view, const struct explained_cell *cell)
{
    size_t printed = 0;

    for (size_t i = 0; i < cell->cell->counter_count; i++) {
        const struct counter_value *value = &cell->cell->counters[i];
        char expected[TEXT_NUMBER_BYTES];

        if (value->kind != COUNTER_EXACT)
            continue;
        if (printed++ == 0)
            print_heading(view, "exact counter", "expected");
        if (value->status != COUNTER_OK) {
            fprintf(view->stream, "  %-*s%s: %.*s\n", NAME_WIDTH, value->name, counter_status_names[value->status],
                    110 - NAME_WIDTH - 20, value->reason ? value->reason : "no reason given");
            continue;
        }
        format_count(value->expected, expected);
        print_counter_line(view, value->name, value->value, expected,
                           !isfinite(value->expected) ? EXPLAIN_UNKNOWN
                           : counter_differs(value)   ? EXPLAIN_DIFFERS
                                                      : EXPLAIN_EQUAL,
                           value->value - value->expected);
    }
}

static void print_levels(const struct view *view, const struct explained_cell *cell)
{
    size_t printed = 0;

    for (size_t i = 0; i < EXPLAIN_LEVELS; i++) {
        const struct explain_level *level = &cell->levels[i];
        const struct model_count *modelled = &level->modelled;
        char low[TEXT_NUMBER_BYTES], high[TEXT_NUMBER_BYTES], limits[2 * TEXT_NUMBER_BYTES + 4];

        if (!isfinite(level->measured))
            continue;
        if (printed++ == 0)
            print_heading(view, "constant levels", "modelled");
        format_count(modelled->low, low);
        format_count(modelled->high, high);
        if (strcmp(low, high) == 0)
            snprintf(limits, sizeof(limits), "%s", low);
        else
            snprintf(limits, sizeof(limits), "%s to %s", low, high);
        /* To the nearer limit. */
        print_counter_line(view, explain_levels[i].name, level->measured, limits, explain_level_verdict(level),
                           level->measured - (level->measured > modelled->high ? modelled->high : modelled->low));
    }
}

/* Why a cell may be beyond the limit, in its own numbers. */
static void print_reasons(const struct view *view, const struct explained_cell *cell)
{
    struct text_wrap wrap = {.stream = view->stream, .width = 110, .indent = 4};
    char text[CELL_REASON_BYTES];
    size_t count = 0;

    for (size_t i = 0; i < explain_reason_count; i++)
        if (cell->reasons & 1u << i && explain_reasons[i].applies(view->explanation, cell, text, sizeof(text))) {
            text_wrap(&wrap, count++ ? "; " : "  why: ");
            text_wrap(&wrap, text);
        }
    if (count > 0)
        fputc('\n', view->stream);
}

/* -- cells -------------------------------------------------------------------------------------------- */

static void print_cell(const struct view *view, const struct explained_cell *cell)
{
    const struct cell_result *own = cell->cell;
    char identity[CELL_IDENTITY_BYTES];

    cell_identity(&own->cell, identity);
    fprintf(view->stream, "\n%s\n", identity);
    if (own->reason[0]) {
        struct text_wrap wrap = {.stream = view->stream, .width = 110, .indent = 4};

        text_wrap(&wrap, "  ");
        text_wrap(&wrap, cell_status_names[own->status]);
        text_wrap(&wrap, ": ");
        text_wrap(&wrap, own->reason);
        fputc('\n', view->stream);
    }
    if (!cell->predicted)
        return;
    print_time(view, cell);
    print_reasons(view, cell);
    print_parts_line(view, cell, true);
    print_parts_line(view, cell, false);
    print_exact(view, cell);
    print_levels(view, cell);
}

/* -- summary ------------------------------------------------------------------------------------------ */

static void print_tally(const struct view *view, const struct explain_tally *tally, const char *what)
{
    struct text_wrap wrap = {.stream = view->stream, .width = 110, .indent = 4};
    char identity[CELL_IDENTITY_BYTES], remainder[TEXT_NUMBER_BYTES], text[2 * TEXT_BYTES];

    if (tally->cells == 0) {
        fprintf(view->stream, "cells %s: none\n", what);
        return;
    }
    cell_identity(&tally->largest->cell->cell, identity);
    text_change(tally->largest->remainder, remainder);
    snprintf(text, sizeof(text), "cells %s: %zu of %zu within %.0f %%; largest remainder %s, ", what, tally->within,
             tally->cells, 100 * EXPLAIN_LIMIT, remainder);
    text_wrap(&wrap, text);
    text_wrap(&wrap, identity);
    fputc('\n', view->stream);
}

/* The identity, its remainder and the names of the reasons, which are added to those named. */
static void print_over(const struct view *view, const struct explained_cell *cell, uint32_t *named)
{
    struct text_wrap wrap = {.stream = view->stream, .width = 110, .indent = 6};
    char identity[CELL_IDENTITY_BYTES], remainder[TEXT_NUMBER_BYTES];
    size_t count = 0;

    cell_identity(&cell->cell->cell, identity);
    text_change(cell->remainder, remainder);
    text_wrap(&wrap, "  ");
    text_wrap(&wrap, identity);
    text_wrap(&wrap, " ");
    text_wrap(&wrap, remainder);
    for (size_t i = 0; i < explain_reason_count; i++)
        if (cell->reasons & 1u << i) {
            text_wrap(&wrap, count++ ? ", " : ": ");
            text_wrap(&wrap, explain_reasons[i].name);
        }
    if (count == 0)
        text_wrap(&wrap, ": nothing in the file says why");
    fputc('\n', view->stream);
    *named |= cell->reasons;
}

static void print_all_over(const struct view *view, bool is_long, uint32_t *named)
{
    size_t printed = 0;

    for (size_t i = 0; i < view->explanation->result->cell_count; i++) {
        const struct explained_cell *cell = &view->explanation->cells[i];

        if (!explain_is_over(cell) || explain_is_long(cell) != is_long)
            continue;
        if (printed++ == 0)
            fprintf(view->stream, "beyond that, %s:\n", is_long ? "over 10 us" : "up to 10 us");
        print_over(view, cell, named);
    }
}

static void print_summary(const struct view *view)
{
    const struct explanation *explanation = view->explanation;
    uint32_t named = 0;

    fputc('\n', view->stream);
    print_tally(view, &explanation->tallies[true], "over 10 us");
    print_tally(view, &explanation->tallies[false], "up to 10 us");
    if (explanation->untimed)
        fprintf(view->stream, "cells without a time: %zu\n", explanation->untimed);
    if (explanation->exact)
        fprintf(view->stream, "exact counters: %zu of %zu equal\n", explanation->exact_equal, explanation->exact);
    if (explanation->single)
        fprintf(view->stream, "constant levels, cells of one warp: %zu of %zu counts equal, %zu within limits\n",
                explanation->single_equal, explanation->single, explanation->single_within);
    print_all_over(view, true, &named);
    print_all_over(view, false, &named);
    for (size_t i = 0; i < explain_reason_count; i++)
        if (named & 1u << i)
            fprintf(view->stream, "%s  %-*s %s\n", named & ((1u << i) - 1) ? "" : "reasons:\n", REASON_WIDTH,
                    explain_reasons[i].name, explain_reasons[i].summary);
}

static void print_head(const struct view *view)
{
    const struct result *result = view->explanation->result;
    const struct device_info *device = &result->device;
    const struct card *card = view->explanation->card;

    fprintf(view->stream, "engine %s: %s%s, compute capability %" PRIu32 ".%" PRIu32 ", %" PRIu32 " SMs; card %s\n",
            result->engine, result->modelled_time ? "card " : "", device->name, device->cc_major, device->cc_minor,
            device->sm_count, card->name);
    if (result->modelled_time)
        fputs("All times and counters in the file are modelled: nothing was measured.\n", view->stream);
    if (!result->complete)
        fputs("incomplete: the run was interrupted; cbank run --resume FILE measures the rest\n", view->stream);
    if (result->counters_reason[0])
        fprintf(view->stream, "counters were not read: %s\n", result->counters_reason);
}

static void print_legend(const struct view *view)
{
    struct text_wrap wrap = {.stream = view->stream, .width = 110};

    fputc('\n', view->stream);
    text_wrap(&wrap, "modelled: launch + wave + the longest of what is behind |, in brackets: these overlap and do not "
                     "add up. remainder: measured less modelled, and that as a share of measured. idc hits: requests "
                     "whose line is there or on its way. Limits of gcc: without and with the lines of "
                     "parameters and instructions, which it has or has not.");
    fputc('\n', view->stream);
}

void explain_print(FILE *stream, const struct explanation *explanation, const char *part, bool color)
{
    const struct view view = {.stream = stream, .explanation = explanation, .color = color};
    size_t printed = 0;

    print_head(&view);
    for (size_t i = 0; i < explanation->result->cell_count; i++)
        if (is_wanted(&explanation->cells[i], part)) {
            print_cell(&view, &explanation->cells[i]);
            printed++;
        }
    if (printed > 0)
        print_legend(&view);
    print_summary(&view);
    if (printed < explanation->result->cell_count)
        fprintf(stream, "printed: %zu of %zu cells\n", printed, explanation->result->cell_count);
}

/* -- JSON --------------------------------------------------------------------------------------------- */

static cJSON *json_measured(const struct explained_cell *cell)
{
    const struct summary *time = &cell->cell->time.summary;
    cJSON *object = isfinite(time->median) ? cJSON_CreateObject() : cJSON_CreateNull();

    if (cJSON_IsObject(object)) {
        json_add_double(object, "median", time->median);
        json_add_double(object, "ci_low", time->ci_low);
        json_add_double(object, "ci_high", time->ci_high);
    }
    return object;
}

static cJSON *json_modelled(const struct explained_cell *cell)
{
    cJSON *object = cell->predicted ? cJSON_CreateObject() : cJSON_CreateNull(), *parts, *bound;

    if (!cJSON_IsObject(object))
        return object;
    json_add_double(object, "time_ns", cell->model.time_ns);
    parts = json_add(object, "parts_ns", cJSON_CreateObject());
    bound = json_add(object, "bound_by", cJSON_CreateArray());
    for (size_t i = 0; i < EXPLAIN_PARTS; i++) {
        json_add_double(parts, explain_parts[i].name, explain_part_ns(&cell->model.parts, i));
        if (explain_parts[i].term == cell->bound)
            json_append(bound, cJSON_CreateString(explain_parts[i].name));
    }
    return object;
}

static void json_counters(cJSON *array, const struct cell_result *cell)
{
    for (size_t i = 0; i < cell->counter_count; i++) {
        const struct counter_value *value = &cell->counters[i];
        cJSON *object;

        if (value->kind != COUNTER_EXACT)
            continue;
        object = json_append(array, cJSON_CreateObject());
        json_add_text(object, "name", value->name);
        json_add_text(object, "status", counter_status_names[value->status]);
        json_add_double(object, "measured", value->value);
        json_add_double(object, "expected", value->expected);
        json_add(object, "equal",
                 value->status == COUNTER_OK && isfinite(value->expected) ? cJSON_CreateBool(!counter_differs(value))
                                                                          : cJSON_CreateNull());
    }
}

static void json_levels(cJSON *array, const struct explained_cell *cell)
{
    for (size_t i = 0; i < EXPLAIN_LEVELS; i++) {
        const struct explain_level *level = &cell->levels[i];
        cJSON *object = json_append(array, cJSON_CreateObject());

        json_add_text(object, "name", explain_levels[i].name);
        json_add_text(object, "counters", explain_levels[i].counted);
        json_add_double(object, "measured", level->measured);
        json_add_double(object, "modelled_low", level->modelled.low);
        json_add_double(object, "modelled_high", level->modelled.high);
        json_add_text(object, "verdict", explain_verdict_names[explain_level_verdict(level)]);
    }
}

static void json_reasons(cJSON *array, const struct explanation *explanation, const struct explained_cell *cell)
{
    char text[CELL_REASON_BYTES];

    for (size_t i = 0; i < explain_reason_count; i++)
        if (cell->reasons & 1u << i && explain_reasons[i].applies(explanation, cell, text, sizeof(text))) {
            cJSON *object = json_append(array, cJSON_CreateObject());

            json_add_text(object, "name", explain_reasons[i].name);
            json_add_text(object, "text", text);
        }
}

static cJSON *json_cell(const struct explanation *explanation, const struct explained_cell *cell)
{
    cJSON *object = cJSON_CreateObject();
    const bool timed = isfinite(cell->remainder);

    json_add_identity(object, &cell->cell->cell);
    json_add_text(object, "status", cell_status_names[cell->cell->status]);
    json_add_text(object, "reason", cell->cell->reason[0] ? cell->cell->reason : NULL);
    json_add(object, "time_ns", json_measured(cell));
    json_add(object, "modelled", json_modelled(cell));
    json_add_double(object, "remainder_ns", cell->remainder_ns);
    json_add_double(object, "remainder", cell->remainder);
    json_add(object, "within", timed ? cJSON_CreateBool(!explain_is_over(cell)) : cJSON_CreateNull());
    json_reasons(json_add(object, "reasons", cJSON_CreateArray()), explanation, cell);
    json_counters(json_add(object, "exact_counters", cJSON_CreateArray()), cell->cell);
    if (cell->predicted)
        json_levels(json_add(object, "levels", cJSON_CreateArray()), cell);
    else
        json_add(object, "levels", cJSON_CreateArray());
    return object;
}

static cJSON *json_tally(const struct explain_tally *tally)
{
    cJSON *object = cJSON_CreateObject();
    char identity[CELL_IDENTITY_BYTES] = "";

    if (tally->largest)
        cell_identity(&tally->largest->cell->cell, identity);
    json_add_integer(object, "cells", tally->cells);
    json_add_integer(object, "within", tally->within);
    json_add_double(object, "largest_remainder", tally->largest ? tally->largest->remainder : NAN);
    json_add_text(object, "largest_cell", tally->largest ? identity : NULL);
    return object;
}

static cJSON *json_summary(const struct explanation *explanation)
{
    cJSON *object = cJSON_CreateObject();

    json_add_double(object, "limit", EXPLAIN_LIMIT);
    json_add_double(object, "long_ns", EXPLAIN_LONG_NS);
    json_add(object, "long", json_tally(&explanation->tallies[true]));
    json_add(object, "short", json_tally(&explanation->tallies[false]));
    json_add_integer(object, "untimed", explanation->untimed);
    json_add_integer(object, "exact_counters", explanation->exact);
    json_add_integer(object, "exact_counters_equal", explanation->exact_equal);
    json_add_integer(object, "one_warp_counts", explanation->single);
    json_add_integer(object, "one_warp_counts_equal", explanation->single_equal);
    json_add_integer(object, "one_warp_counts_within", explanation->single_within);
    return object;
}

cJSON *explain_json_open(const struct card *card, const char *card_path)
{
    cJSON *root = cJSON_CreateObject();
    cJSON *object = json_add(root, "schema", cJSON_CreateObject());

    json_add_text(object, "name", schema_name);
    json_add_text(object, "version", schema_version);
    json_add_tool(root);
    object = json_add(root, "card", cJSON_CreateObject());
    json_add_text(object, "file", card_path);
    json_add_text(object, "name", card->name);
    json_add_text(object, "chip", card->chip);
    json_add(root, "results", cJSON_CreateArray());
    return root;
}

void explain_json_add(cJSON *document, const struct explanation *explanation, const char *file, const char *part)
{
    const struct result *result = explanation->result;
    cJSON *results = cJSON_GetObjectItemCaseSensitive(document, "results");
    cJSON *object = json_append(results, cJSON_CreateObject()), *cells;

    json_add_text(object, "file", file);
    json_add_text(object, "engine", result->engine);
    json_add(object, "modelled_time", cJSON_CreateBool(result->modelled_time));
    json_add(object, "complete", cJSON_CreateBool(result->complete));
    json_add_text(object, "device", result->device.name);
    json_add_text(object, "uuid", result->device.uuid[0] ? result->device.uuid : NULL);
    json_add(object, "summary", json_summary(explanation));
    cells = json_add(object, "cells", cJSON_CreateArray());
    for (size_t i = 0; i < result->cell_count; i++)
        if (is_wanted(&explanation->cells[i], part))
            json_append(cells, json_cell(explanation, &explanation->cells[i]));
}
