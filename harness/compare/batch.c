/* SPDX-License-Identifier: MIT
 * cbank compare --batch: the judge's questions and answers as lines of JSON.
 *
 *     line -> struct question -> struct judged_cell of each cell -> judge() -> line
 */
#include "batch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cell.h"
#include "document.h"
#include "judge.h"
#include "judge_json.h"
#include "launch_path.h"
#include "log.h"
#include "normal.h"
#include "series.h"
#include "stats.h"
#include "table.h"

enum { ERROR_BYTES = 1024, LINE_NAME_BYTES = 32, CELLS_MAX = 100000 };
static const double threshold_default = 0.01;

/* A cell of a question. */
struct asked_cell {
    char identity[CELL_IDENTITY_BYTES];
    struct numbers times[SIDES];  /* owned, as all numbers here: ns, one a process */
    struct numbers nights[SIDES]; /* the number of the night of each; empty: all are different */
    struct numbers interval;      /* of 95 %, of one of the times; empty: not known */
    struct deviation *known; /* owned: by calibrations, of one GPU or several */
    size_t known_count;
    bool has_seen, has_boards;
    struct deviation seen, boards;
    uint32_t base_boards; /* GPUs that BASE is the median of */
    bool cold, copies; /* by the identity, as the next two: names, "" where there is none */
    char kernel[CELL_IDENTITY_BYTES], space[CELL_IDENTITY_BYTES];
};

struct question {
    double threshold;
    bool nights, boards_differ, same_kind, modelled;
    char device[DEVICE_TEXT_BYTES]; /* model of the GPUs; "": not known */
    struct asked_cell *cells; /* owned */
    size_t cell_count;
};

/* -- reading ----------------------------------------------------------------------------------- */

/* Sets what the noise of a cell depends on: its kernel and memory space, whether its caches are
 * flushed, and whether the host takes part in every launch. False where the text is no
 * identity. */
static bool take_identity(struct asked_cell *cell)
{
    enum { WORKLOAD, PATH, PATTERN, CACHE_STATE = 5, COORDINATES };
    static const struct table states = TABLE("cache state", cache_states, cache_state_count);
    static const char copied[] = "refill_bytes=";
    char text[CELL_IDENTITY_BYTES], *rest = text, *part;
    const struct cache_state *state = NULL;
    const struct workload *workload = NULL;
    const struct path *path = NULL;
    struct cell launch = {0};
    bool refilled = false;
    size_t i = 0;

    memcpy(text, cell->identity, sizeof(text));
    for (; (part = strsep(&rest, "/")); i++) {
        if (i == WORKLOAD) {
            snprintf(cell->kernel, sizeof(cell->kernel), "%s", part);
            workload = table_find(&table_of_workloads, part);
        }
        if (i == PATTERN && workload && workload->index == INDEX_ABSENT)
            launch.pattern = table_find(&table_of_launch_paths, part);
        if (i == PATH) {
            snprintf(cell->space, sizeof(cell->space), "%s", part);
            path = table_find(&table_of_paths, part);
        }
        if (i == CACHE_STATE)
            state = table_find(&states, part);
        if (i >= COORDINATES && strncmp(part, copied, strlen(copied)) == 0)
            refilled = atof(part + strlen(copied)) > 0;
    }
    cell->cold = state && state->flush;
    launch.workload = launch.pattern ? workload : NULL;
    cell->copies = launch.workload ? cell_waits_for_host(&launch)
                                   : refilled && !(path && path->home == TABLE_PARAMETER);
    return state;
}

/* Whether all are finite and above `low`. */
static bool all_above(const struct numbers *numbers, double low)
{
    for (size_t i = 0; i < numbers->count; i++)
        if (!isfinite(numbers->values[i]) || !(numbers->values[i] > low))
            return false;
    return true;
}

static void check_cell(const struct node *node, void *element)
{
    static const char *const times[] = {"base_ns", "new_ns"};
    static const char *const nights[] = {"base_nights", "new_nights"};
    struct asked_cell *cell = element;
    const struct numbers *interval = &cell->interval;

    if (!take_identity(cell))
        node_wrong_member(node, "identity",
                          "is no identity, WORKLOAD/PATH/PATTERN/ELEMENTS/BLOCK_SIZE/CACHE_STATE");
    for (size_t i = 0; i < SIDES; i++) {
        if (cell->times[i].count == 0 || !all_above(&cell->times[i], 0))
            node_wrong_member(node, times[i], "expected one time or more, each above 0");
        if (cell->nights[i].count > 0 && (cell->nights[i].count != cell->times[i].count ||
                                          !all_above(&cell->nights[i], -INFINITY)))
            node_wrong_member(node, nights[i], "expected a number for each time");
    }
    if (interval->count > 0 && (interval->count != 2 || !all_above(interval, 0) ||
                                interval->values[0] > interval->values[1]))
        node_wrong_member(node, "interval_ns", "expected the two ends of an interval");
}

#define CELL(kind, key, member, presence) FIELD(kind, struct asked_cell, key, member, presence)
#define GIVEN(has)                                                                             \
    &(const struct object)                                                                     \
    {                                                                                          \
        .fields = {deviation_rows, DEVIATION_ROWS}, .given = offsetof(struct asked_cell, has), \
    }

static const struct objects known_list = {.fields = {deviation_rows, DEVIATION_ROWS},
                                          .element_bytes = sizeof(struct deviation),
                                          .count = offsetof(struct asked_cell, known_count),
                                          .max = CELLS_MAX};

static const struct field cell_rows[] = {
    {CELL(field_text, "identity", identity, REQUIRED)},
    {CELL(field_numbers, "base_ns", times[BASE], REQUIRED)},
    {CELL(field_numbers, "new_ns", times[NEW], REQUIRED)},
    {CELL(field_numbers, "base_nights", nights[BASE], OMITTED)},
    {CELL(field_numbers, "new_nights", nights[NEW], OMITTED)},
    {CELL(field_numbers, "interval_ns", interval, OMITTED)},
    {CELL(field_list, "known", known, OMITTED), .elements = &known_list},
    {CELL(field_object, "seen", seen, OMITTED), .object = GIVEN(has_seen)},
    {CELL(field_object, "boards", boards, OMITTED), .object = GIVEN(has_boards)},
    {CELL(field_uint32, "base_boards", base_boards, OMITTED)},
};
static const struct objects cell_list = {OBJECTS(cell_rows, struct asked_cell, struct question,
                                                 cell_count),
                                         .max = CELLS_MAX, .check = check_cell};

static const struct field question_rows[] = {
    {FIELD(field_number, struct question, "threshold", threshold, OMITTED), .low = 0, .high = 1000},
    {FIELD(field_bool, struct question, "nights", nights, OMITTED)},
    {FIELD(field_bool, struct question, "boards_differ", boards_differ, OMITTED)},
    {FIELD(field_bool, struct question, "same_kind", same_kind, OMITTED)},
    {FIELD(field_text, struct question, "device", device, OMITTED)},
    {FIELD(field_bool, struct question, "modelled", modelled, OMITTED)},
    {FIELD(field_list, struct question, "cells", cells, REQUIRED), .elements = &cell_list},
};
static const struct fields question_fields = FIELDS(question_rows);

static void question_close(struct question *question)
{
    for (size_t i = 0; i < question->cell_count; i++) {
        struct asked_cell *cell = &question->cells[i];

        for (size_t side = 0; side < SIDES; side++) {
            free(cell->times[side].values);
            free(cell->nights[side].values);
        }
        free(cell->interval.values);
        free(cell->known);
    }
    free(question->cells);
}

/* -- asking ------------------------------------------------------------------------------------ */

/* The standard error of a time within its process by its interval, which is widened by what is
 * assumed of processes; 0: not known. */
static double error_within(const struct numbers *interval)
{
    double error;

    if (interval->count == 0)
        return 0;
    error = log(interval->values[1] / interval->values[0]) / 2 / STATS_ERRORS_TO_END;
    return sqrt(fmax(error * error - SERIES_PROCESS * SERIES_PROCESS, 0));
}

/* On how many nights the times of a side are. Sorts the numbers. */
static size_t count_nights(struct numbers *nights, size_t times)
{
    size_t count = 1;

    if (nights->count == 0)
        return times;
    stats_sort(nights->values, nights->count);
    for (size_t i = 1; i < nights->count; i++)
        count += nights->values[i] != nights->values[i - 1];
    return count;
}

/* The deviation of sorted times, by their median distance from the median: a normal distribution
 * with that distance has this deviation. A single time that is far off hardly moves it. Few times
 * do not tell which one is far off. */
static enum status robust_deviation(const struct numbers *times, struct deviation *out)
{
    enum { ENOUGH = 5 };
    static const double efficiency = 0.37; /* of that median: degrees of freedom of each time */
    const double middle = log(stats_median(times->values, times->count));
    double *away;

    if (times->count < ENOUGH) {
        *out = deviation_of(times->values, times->count);
        return STATUS_OK;
    }
    away = malloc(times->count * sizeof(*away));
    if (!away)
        return log_memory("a comparison");
    for (size_t i = 0; i < times->count; i++)
        away[i] = fabs(log(times->values[i]) - middle);
    stats_sort(away, times->count);
    *out = (struct deviation){stats_median(away, times->count) / STATS_NORMAL_QUARTILE,
                              efficiency * (double)(times->count - 1), DEVIATION_PROCESSES};
    free(away);
    return STATUS_OK;
}

/* Of sorted times, the logarithm of the lower or the upper one in the middle. */
static double middle_of(const struct numbers *times, bool upper)
{
    return log(times->values[upper ? times->count / 2 : (times->count - 1) / 2]);
}

/* Sets what medians over nights are judged by. The gap is that of the values next to the middle,
 * since more than half of the values lie beyond those. */
static enum status ask_nights(struct asked_cell *from, const struct question *question,
                              struct judged_cell *cell)
{
    const double change = log(cell->sides[NEW].estimate.ns / cell->sides[BASE].estimate.ns);
    const bool up = change > 0;
    const double sure = middle_of(&from->times[NEW], !up) - middle_of(&from->times[BASE], up);

    cell->gap = question->boards_differ ? fabs(change) : (sure > 0) == up ? fabs(sure) : 0;
    for (size_t i = 0; i < SIDES; i++) {
        struct deviation *own = &cell->sides[i].estimate.own;
        enum status status = STATUS_OK;

        cell->nights[i] = count_nights(&from->nights[i], from->times[i].count);
        *own = (struct deviation){0};
        if (!question->modelled && !(question->boards_differ && i == BASE))
            status = robust_deviation(&from->times[i], own);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

/* Makes the judge's question of a cell. */
static enum status ask_cell(struct asked_cell *from, const struct question *question,
                            struct judged_cell *cell)
{
    const double within = error_within(&from->interval);

    *cell = judged_unknown;
    cell->cold = from->cold;
    cell->copies = from->copies;
    cell->unmeasured =
        !deviation_measured(question->device, from->kernel, from->space, from->cold, from->copies);
    cell->before = (struct deviation){0};
    for (size_t i = 0; i < from->known_count; i++)
        cell->before = deviation_pool(&cell->before, &from->known[i]);
    cell->seen = from->has_seen ? from->seen : (struct deviation){0};
    cell->other_boards = from->has_boards ? from->boards : (struct deviation){0};
    cell->boards = from->base_boards;
    for (size_t i = 0; i < SIDES; i++) {
        struct judged_side *side = &cell->sides[i];
        struct numbers *times = &from->times[i];

        stats_sort(times->values, times->count);
        side->processes = times->count;
        side->modelled = question->modelled;
        side->estimate = (struct estimate){
            .ns = stats_median(times->values, times->count),
            .within = within,
            .own = question->modelled ? (struct deviation){0}
                                      : deviation_of(times->values, times->count),
        };
    }
    return question->nights ? ask_nights(from, question, cell) : STATUS_OK;
}

/* -- answering --------------------------------------------------------------------------------- */

/* The answer as a tree, which the caller deletes. */
static cJSON *answer_of(const struct judged_cell *cells, size_t count)
{
    cJSON *root = cJSON_CreateObject(), *array = json_add(root, "cells", cJSON_CreateArray());

    for (size_t i = 0; i < count; i++) {
        cJSON *cell = json_append(array, cJSON_CreateObject());

        json_add_text(cell, "verdict", verdict_rows[cells[i].verdict].name);
        fields_write(cell, &judged_fields, &cells[i]);
    }
    return root;
}

/* The normal of the model that was asked for last: questions of one fleet have one model. */
struct last_normal {
    char model[DEVICE_TEXT_BYTES];
    struct normal normal; /* owned */
    bool read;
};

/* Reads the normal of a model, unless it was asked for last. */
static enum status read_normal(struct last_normal *last, const char *model)
{
    enum status status;
    bool found;

    if (last->read && strcmp(last->model, model) == 0)
        return STATUS_OK;
    normal_close(&last->normal);
    status = normal_read(NULL, model, &last->normal, &found);
    snprintf(last->model, sizeof(last->model), "%s", model);
    last->read = status == STATUS_OK;
    return status;
}

/* Judges the cells of a question, and sets the answer. */
static enum status answer_question(struct question *question, struct last_normal *last,
                                   cJSON **answer)
{
    const struct judge_options options = {
        .threshold = isnan(question->threshold) ? threshold_default : question->threshold,
        .boards_differ = question->boards_differ,
        .same_kind = question->same_kind,
        .nights = question->nights,
    };
    const size_t count = question->cell_count;
    struct judged_cell *cells = calloc(count + 1, sizeof(*cells));
    struct judged_cell **pointers = calloc(count + 1, sizeof(*pointers));
    enum status status = cells && pointers ? STATUS_OK : log_memory("a comparison");
    const bool kinds_differ = question->boards_differ && !question->same_kind;

    if (status == STATUS_OK && kinds_differ)
        status = read_normal(last, question->device);
    for (size_t i = 0; status == STATUS_OK && i < count; i++) {
        pointers[i] = &cells[i];
        status = ask_cell(&question->cells[i], question, &cells[i]);
        cells[i].kinds_apart =
            kinds_differ ? normal_apart(&last->normal, question->cells[i].identity) : NAN;
    }
    if (status == STATUS_OK)
        status = judge(pointers, count, &options);
    if (status == STATUS_OK)
        *answer = answer_of(cells, count);
    free(cells);
    free(pointers);
    return status;
}

/* Reads a line, and sets its answer. An error is the text of `error`. */
static enum status answer_line(size_t number, const char *line, size_t bytes,
                               struct last_normal *last, cJSON **answer)
{
    char name[LINE_NAME_BYTES], error[ERROR_BYTES];
    struct reader reader = {.file = name};
    struct question question = {0};
    struct node root = {.reader = &reader};
    cJSON *tree = NULL;
    enum status status;

    snprintf(name, sizeof(name), "line %zu", number);
    log_capture(error, sizeof(error));
    status = json_parse(name, line, bytes, &tree);
    if (status == STATUS_OK) {
        root.json = tree;
        fields_read(&root, &question_fields, &question);
        status = reader.status;
    }
    log_capture(NULL, 0);
    json_free(tree);
    if (status == STATUS_OK)
        status = answer_question(&question, last, answer);
    else if (status == STATUS_USAGE) {
        *answer = cJSON_CreateObject();
        json_add_text(*answer, "error", error);
    }
    question_close(&question);
    return status;
}

enum status batch_answer(FILE *questions, FILE *answers)
{
    struct last_normal last = {.read = false};
    enum status worst = STATUS_OK;
    size_t room = 0, number = 0;
    char *line = NULL;
    ssize_t bytes;

    while (worst != STATUS_ENVIRONMENT && (bytes = getline(&line, &room, questions)) >= 0) {
        cJSON *answer = NULL;

        worst = status_worse(worst, answer_line(++number, line, (size_t)bytes, &last, &answer));
        if (!answer || json_put_owned(answers, json_line(answer)) != STATUS_OK ||
            fflush(answers) != 0)
            worst = STATUS_ENVIRONMENT;
    }
    normal_close(&last.normal);
    free(line);
    return worst;
}
