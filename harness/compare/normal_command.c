/* SPDX-License-Identifier: MIT
 * cbank normal: is a GPU as boards of its kind are? Each time is held against what such a board
 * takes, by the judge of compare: the normal is BASE.
 *
 *   result -> its kind -> range of each cell -> inside, or outside and by how much, with the cause
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "launch_path.h"
#include "log.h"
#include "normal.h"
#include "side.h"
#include "text_print.h"

struct normal_options {
    const char *normal_path;
    struct format_options format;
    struct output_options look;
};

static const struct option_row option_rows[] = {
    {.name = "normal",
     .topic = TOPIC_VERDICT,
     .argument = "FILE",
     .help = "a normal to hold the result against (default: the one of the model in the program)",
     .kind = &option_text,
     .file = FILE_READ,
     .offset = offsetof(struct normal_options, normal_path)},
};

static const struct option_group groups[] = {
    OPTION_GROUP(option_rows, 0),
    OPTION_GROUP(format_option_rows, offsetof(struct normal_options, format)),
    OPTION_GROUP(output_option_rows, offsetof(struct normal_options, look)),
};

enum place { NOT_HELD, INSIDE, OUTSIDE };
static const char *const place_names[] =
    {[NOT_HELD] = "not held", [INSIDE] = "inside", [OUTSIDE] = "outside"};

/* What boards of a kind take for a cell. NaN: not known. */
struct range {
    double low, high, ns, clock_mhz;
};

struct normal_row {
    char identity[CELL_IDENTITY_BYTES];
    const struct side_cell *cell;
    struct range *ranges; /* of each kind; owned by the answer */
    double ns, low, high;
    double change; /* from what the kind takes that is nearest; 0.01: 1 % slower */
    double beyond; /* of the range; NaN: inside */
    enum place place;
    bool slower, doubtful;
    char cause[GRID_TEXT_BYTES];
};

struct answer {
    const struct normal *normal;
    const struct side *side;
    const struct normal_kind *kind; /* NULL: not known, or never seen */
    bool new_kind;
    struct normal_row *rows; /* owned */
    struct range *ranges;    /* owned */
    size_t counts[3]; /* by enum place */
};

/* -- judging ----------------------------------------------------------------------------------- */

static bool measured(const struct side_cell *cell)
{
    return cell->status == CELL_OK && !cell->invalid && cell->process_count > 0 && !cell->modelled;
}

/* The judge's question about a cell of the result, whose BASE are the boards of a kind. */
static enum status ask(const struct side_cell *cell, const struct normal_cell *normal,
                       struct judged_cell *out)
{
    struct judged_side *base = &out->sides[BASE], *new_side = &out->sides[NEW];
    enum status status;

    *out = judged_unknown;
    status = estimate_of(cell->processes, cell->process_count, false, &new_side->estimate);
    new_side->processes = cell->process_count;
    new_side->clock_mhz = cell->clock.value;
    base->estimate = (struct estimate){.ns = normal->ns, .within = new_side->estimate.within};
    base->processes = out->boards = normal->boards;
    base->clock_mhz = normal->clock_mhz;
    out->cold = cell->cell.cache_state->flush;
    out->copies = cell_waits_for_host(&cell->cell);
    if (normal->boards > 1)
        out->other_boards =
            (struct deviation){normal->deviation, normal->boards - 1, DEVIATION_BOARDS};
    return status;
}

/* Sets the ranges of all cells on boards of a kind: the interval of all of them together
 * (Bonferroni), so that one in twenty boards has a cell outside by chance. */
static enum status set_ranges(struct answer *answer, size_t kind)
{
    const struct normal_kind *its = &answer->normal->kinds[kind];
    const size_t count = answer->side->cell_count;
    struct judged_cell *cells = calloc(count + 1, sizeof(*cells));
    struct judged_cell **asked = calloc(count + 1, sizeof(*asked));
    struct judge_options options = {.boards_differ = true,
                                    .same_kind = true,
                                    .clocks_allowed = true};
    enum status status = cells && asked ? STATUS_OK : log_memory("a normal");
    size_t held = 0;

    for (size_t i = 0; status == STATUS_OK && i < count; i++) {
        const struct side_cell *cell = answer->rows[i].cell;
        const struct normal_cell *normal = normal_cell_of(its, answer->rows[i].identity);

        if (!normal || !measured(cell) || strcmp(normal->sha256, cell->sha256) != 0)
            continue;
        status = ask(cell, normal, &cells[i]);
        asked[held++] = &cells[i];
    }
    options.other_analyses = held > 0 ? (unsigned)held - 1 : 0;
    if (status == STATUS_OK)
        status = judge(asked, held, &options);
    for (size_t i = 0; status == STATUS_OK && i < held; i++) {
        const size_t row = (size_t)(asked[i] - cells);
        const double ns = asked[i]->sides[BASE].estimate.ns;
        const double half = asked[i]->ratio.ci_high / asked[i]->ratio.value;

        answer->rows[row].ranges[kind] =
            (struct range){ns / half, ns * half, ns, asked[i]->sides[BASE].clock_mhz};
    }
    free(asked);
    free(cells);
    return status;
}

/* -- causes ------------------------------------------------------------------------------------ */

#define add(row, ...) text_join((row)->cause, sizeof((row)->cause), "; ", __VA_ARGS__)

static bool holds(const struct range *range, double ns)
{
    return range->low <= ns && ns <= range->high;
}

static void say_why_not_held(const struct answer *answer, struct normal_row *row)
{
    bool known = false;

    for (size_t i = 0; i < answer->normal->kind_count; i++)
        known = known || normal_cell_of(&answer->normal->kinds[i], row->identity);
    if (!measured(row->cell))
        add(row, "not measured%s%.200s", row->cell->reason ? ": " : "",
            row->cell->reason ? row->cell->reason : "");
    else
        add(row, known ? "its code is another than on the boards" : "no board has this cell");
}

/* Adds the known causes of a time outside the range. */
static void say_cause(const struct answer *answer, struct normal_row *row,
                      const struct range *nearest)
{
    const double clock = row->cell->clock.value;
    char words[BOARD_TEXT_BYTES];

    if (fabs(clock / nearest->clock_mhz - 1) > 0.003)
        add(row, "SM clock %.0f MHz, not %.0f", clock, nearest->clock_mhz);
    for (size_t i = 0; i < CELL_FLAG_COUNT; i++)
        if (row->cell->flags >> i & 1)
            add(row, "%s", cell_flag_names[i]);
    for (size_t i = 0; answer->kind && i < answer->normal->kind_count; i++) {
        const struct board *beside = &answer->normal->kinds[i].board;

        if (&answer->normal->kinds[i] != answer->kind && holds(&row->ranges[i], row->ns))
            add(row, "as boards with %.300s",
                board_difference(&answer->kind->board, beside, words));
    }
    if (!row->cause[0])
        add(row, "cause not known");
}

/* Adds the kinds whose range holds the time, unless all do. The kind of the board is not known. */
static void say_kinds(const struct answer *answer, struct normal_row *row)
{
    size_t fits = 0;
    char words[BOARD_TEXT_BYTES];

    for (size_t i = 0; i < answer->normal->kind_count; i++)
        fits += holds(&row->ranges[i], row->ns);
    for (size_t i = 0; fits < answer->normal->kind_count && i < answer->normal->kind_count; i++)
        if (holds(&row->ranges[i], row->ns))
            add(row, "as %.300s", board_kind(&answer->normal->kinds[i].board, words));
}

/* -- the answer -------------------------------------------------------------------------------- */

/* Concludes on a cell from the ranges of the kinds that the board may be of. */
static void conclude(struct answer *answer, struct normal_row *row)
{
    const struct range *nearest = NULL;

    row->low = INFINITY;
    row->high = -INFINITY;
    for (size_t i = 0; i < answer->normal->kind_count; i++) {
        const struct range *range = &row->ranges[i];

        if ((answer->kind && &answer->normal->kinds[i] != answer->kind) || isnan(range->low))
            continue;
        row->low = fmin(row->low, range->low);
        row->high = fmax(row->high, range->high);
        if (!nearest || fabs(log(row->ns / range->ns)) < fabs(log(row->ns / nearest->ns)))
            nearest = range;
    }
    if (!nearest) {
        row->low = row->high = NAN;
        say_why_not_held(answer, row);
    } else {
        row->change = row->ns / nearest->ns - 1;
        row->slower = row->ns > row->high;
        row->beyond = row->slower ? row->ns / row->high - 1 : fmin(row->ns / row->low - 1, 0);
        row->place = row->beyond != 0 ? OUTSIDE : INSIDE;
        row->beyond = row->beyond != 0 ? row->beyond : NAN;
        row->doubtful = row->cell->flags & FLAGS_DOUBTFUL;
        if (row->place == OUTSIDE)
            say_cause(answer, row, nearest);
        else if (!answer->kind)
            say_kinds(answer, row);
    }
    answer->counts[row->place]++;
}

static enum status answer_open(const struct normal *normal, const struct side *side,
                               struct answer *out)
{
    const struct board *board = &side->identity.device.board;
    const size_t count = side->cell_count;
    enum status status = STATUS_OK;

    *out = (struct answer){.normal = normal, .side = side, .kind = normal_kind_of(normal, board)};
    out->new_kind = !out->kind && board_kinds(board, board) != KINDS_UNKNOWN;
    out->rows = calloc(count + 1, sizeof(*out->rows));
    out->ranges = calloc(count * normal->kind_count + 1, sizeof(*out->ranges));
    if (!out->rows || !out->ranges)
        return log_memory("a normal");
    for (size_t i = 0; i < count; i++) {
        struct normal_row *row = &out->rows[i];
        struct estimate estimate = {.ns = NAN};

        row->cell = &side->cells[i];
        row->ranges = out->ranges + i * normal->kind_count;
        for (size_t k = 0; k < normal->kind_count; k++)
            row->ranges[k] = (struct range){NAN, NAN, NAN, NAN};
        cell_identity(&row->cell->cell, row->identity);
        if (status == STATUS_OK && measured(row->cell))
            status = estimate_of(row->cell->processes, row->cell->process_count, false, &estimate);
        row->ns = estimate.ns;
        row->change = row->beyond = NAN;
    }
    for (size_t k = 0; k < normal->kind_count && status == STATUS_OK; k++)
        status = set_ranges(out, k);
    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        conclude(out, &out->rows[i]);
    return status;
}

/* The exit code, by the table of docs/comparing.md. A slower cell of a new kind is inconclusive: no
 * board of that kind was measured. */
static enum status answer_status(const struct answer *answer)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; i < answer->side->cell_count; i++) {
        const struct normal_row *row = &answer->rows[i];

        if (row->cell->invalid || row->cell->status == CELL_FAILED)
            status = status_worse(status, STATUS_FINDING);
        else if (row->slower)
            status = status_worse(status, row->doubtful || answer->new_kind ? STATUS_INCONCLUSIVE
                                                                            : STATUS_FINDING);
    }
    return answer->counts[INSIDE] + answer->counts[OUTSIDE] > 0
               ? status
               : status_worse(status, STATUS_ENVIRONMENT);
}

/* -- printing ---------------------------------------------------------------------------------- */

static void value_place(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const struct normal_row *its = row;

    (void)column;
    out->text = place_names[its->place];
    out->style = its->place == INSIDE ? GRID_GOOD : its->slower ? GRID_BAD : GRID_DOUBT;
}

#define ROW(name) GRID_MEMBER(struct normal_row, name)

static const struct grid_column columns[] = {
    {.key = "cell", .heading = "cell", .value = grid_array, .member = ROW(identity), .head = true},
    {.key = "verdict", .heading = "verdict", .value = value_place},
    {.key = "time_ns",
     .heading = "time",
     .format = text_time,
     .value = grid_number,
     .member = ROW(ns)},
    {.key = "low_ns",
     .heading = "from",
     .group = "boards",
     .format = text_time,
     .value = grid_number,
     .member = ROW(low)},
    {.key = "high_ns",
     .heading = "to",
     .group = "boards",
     .format = text_time,
     .value = grid_number,
     .member = ROW(high)},
    {.key = "change",
     .heading = "change",
     .format = text_change,
     .value = grid_number,
     .member = ROW(change)},
    {.key = "beyond",
     .heading = "beyond",
     .format = text_change,
     .value = grid_number,
     .member = ROW(beyond)},
    {.key = "cause",
     .heading = "known cause",
     .value = grid_array,
     .member = ROW(cause),
     .below = true},
};

/* What the result is held against, and how many cells are as they should be. */
static void print_head(const struct answer *answer, const struct print_style *look)
{
    const struct device_info *device = &answer->side->identity.device;
    const struct text_wrap wrap = {.stream = stdout, .width = look->width};
    char kind[BOARD_TEXT_BYTES];
    uint32_t boards = 0;

    for (size_t i = 0; i < answer->normal->kind_count; i++)
        boards += answer->normal->kinds[i].boards;
    board_kind(&device->board, kind);
    if (answer->kind)
        text_paragraph(wrap, "%s: %s: held against %u board%s of its kind", device->name, kind,
                       answer->kind->boards, answer->kind->boards == 1 ? "" : "s");
    else
        text_paragraph(wrap, "%s: %s (%s): held against all %zu kinds of %u boards at once",
                       device->name,
                       answer->new_kind ? "a new kind, of no measured board" : "kind not known",
                       kind, answer->normal->kind_count, boards);
    text_paragraph(wrap, "%zu cells inside, %zu outside, %zu not held", answer->counts[INSIDE],
                   answer->counts[OUTSIDE], answer->counts[NOT_HELD]);
    putchar('\n');
}

static enum status print_answer(const struct answer *answer, const struct normal_options *options,
                                size_t format)
{
    const struct print_style look = output_style(&options->look);
    const struct grid grid = {GRID_COLUMNS(columns),
                              GRID_ROWS(answer->rows, answer->side->cell_count)};

    if (format < GRID_FORMAT_COUNT)
        return grid_formats[format]->print(stdout, &grid);
    print_head(answer, &look);
    return grid_print(stdout, &grid, &look);
}

/* -- the kinds --------------------------------------------------------------------------------- */

/* A kind of a model, in a list of them. */
struct kind_row {
    const char *model;
    const struct normal_kind *kind;
};

static void value_groups(const struct grid_column *column, const void *row, struct grid_value *out)
{
    (void)column;
    out->text = board_sizes(&((const struct kind_row *)row)->kind->board, out->room);
}

#define KIND(name) GRID_BEHIND(struct kind_row, kind, struct normal_kind, name)

static const struct grid_column kind_columns[] = {
    {.key = "model",
     .heading = "model",
     .value = grid_text,
     .member = GRID_MEMBER(struct kind_row, model)},
    {.key = "part_number",
     .heading = "part number",
     .value = grid_array,
     .member = KIND(board.part_number)},
    {.key = "groups", .heading = "groups of SMs", .value = value_groups},
    {.key = "boards",
     .heading = "boards",
     .format = text_count,
     .value = grid_integer,
     .member = KIND(boards)},
};

/* Prints the kinds of a normal. */
static enum status print_kinds(const struct normal *normal, const struct normal_options *options,
                               size_t format)
{
    const struct print_style look = output_style(&options->look);
    struct kind_row *rows = calloc(normal->kind_count + 1, sizeof(*rows));
    struct grid grid = {GRID_COLUMNS(kind_columns), GRID_ROWS(rows, normal->kind_count)};
    enum status status;

    if (!rows)
        return log_memory("kinds of boards");
    for (size_t i = 0; i < normal->kind_count; i++)
        rows[i] = (struct kind_row){normal->model, &normal->kinds[i]};
    status = format < GRID_FORMAT_COUNT ? grid_formats[format]->print(stdout, &grid)
                                        : grid_print(stdout, &grid, &look);
    free(rows);
    return status;
}

/* Prints the kinds of the file, or of the model in the program. */
static enum status list_kinds(const struct normal_options *options, size_t format)
{
    struct normal normal;
    bool found;
    enum status status = normal_read(options->normal_path, NULL, &normal, &found);

    if (status == STATUS_OK)
        status = print_kinds(&normal, options, format);
    normal_close(&normal);
    return status;
}

static enum status normal(const void *parsed, const struct invocation *invocation)
{
    const struct normal_options *options = parsed;
    struct sides sides = {.timely = false};
    struct normal normal = {.kinds = NULL};
    struct answer answer = {.rows = NULL};
    enum status status;
    size_t format;
    bool found;

    status = format_taken(&options->format, &format);
    if (status == STATUS_OK && invocation->argument_count == 0)
        return list_kinds(options, format);
    if (status == STATUS_OK)
        status = sides_add_list(&sides, invocation->arguments[0]);
    if (status == STATUS_OK && sides.count != 1)
        status = log_error(STATUS_USAGE, "%s: results of one GPU are expected, there are %zu",
                           invocation->arguments[0], sides.count);
    if (status != STATUS_OK)
        goto out;
    status = normal_read(options->normal_path, sides.gpus[0].identity.device.name, &normal, &found);
    if (status == STATUS_OK &&
        (!found || strcmp(normal.model, sides.gpus[0].identity.device.name) != 0))
        status = log_error(STATUS_ENVIRONMENT,
                           "%s: no boards of %s were measured for this; compare its own results "
                           "over time, or name a normal with --normal",
                           invocation->arguments[0], sides.gpus[0].identity.device.name);
    if (status == STATUS_OK)
        status = answer_open(&normal, &sides.gpus[0], &answer);
    if (status == STATUS_OK)
        status = print_answer(&answer, options, format);
    if (status == STATUS_OK)
        status = answer_status(&answer);
out:
    free(answer.rows);
    free(answer.ranges);
    normal_close(&normal);
    sides_close(&sides);
    return status;
}

const struct command normal_command = {
    .name = "normal",
    .summary = "Is this GPU as measured boards of its kind are?",
    .arguments = "[RESULT]",
    .arguments_min = 0,
    .arguments_max = 1,
    OPTION_GROUPS(groups),
    .options_bytes = sizeof(struct normal_options),
    .details = "RESULT is a file, a folder, or several with commas between, of one GPU. A kind is "
               "a model, a part number and\n"
               "groups of SMs, as the result records them. A board whose kind is not known is held "
               "against all kinds at once.\n"
               "Without RESULT, the kinds that were measured are listed.\n"
               "The exit code is 1 when a cell is slower than any such board, 3 when no cell can "
               "be held against one, and 4 when\n"
               "that cell is flagged, or the kind is new.",
    .run = normal,
};
