/* SPDX-License-Identifier: MIT
 * The comparison of two sides. Cells of both are sorted by the same order and walked together; each
 * pair gets what is known without times (status, code, counters), then all of them go to the judge
 * at once, since it corrects for their number.
 *
 *   pair -> prepare (counters, code, context) -> judge -> conclude -> sort, worst first */
#include "compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch_path.h"
#include "log.h"
#include "lone_cells.h"
#include "normal.h"
#include "text.h"

static const double clock_tolerance = 0.01; /* SM clocks further apart make times incomparable */

#define note(cell, ...) text_join((cell)->note, sizeof((cell)->note), "; ", __VA_ARGS__)

/* -- context ----------------------------------------------------------------------------------- */

static bool text_differs(const char *base, const char *new_text)
{
    return *base && *new_text && (strcmp(base, new_text) != 0 || strcmp(base, SIDE_MIXED) == 0);
}

#define OF_SIDE(member) offsetof(struct side_identity, member)

const struct context_field context_fields[] = {
    {"engine", "measured or modelled", false, OF_SIDE(engine), NULL},
    {"device", "name of the GPU or card", false, OF_SIDE(device.name),
     "two models of GPU are compared"},
    [CONTEXT_UUID] = {"uuid", "the very GPU", false, OF_SIDE(device.uuid),
                      "two boards are compared, and intervals hold what boards differ by"},
    {"driver", "version of the driver", true, OF_SIDE(device.driver), NULL},
    {"vbios", "version of the GPU's firmware", true, OF_SIDE(device.vbios), NULL},
    [CONTEXT_CLOCKS] = {"clocks", "SM clock of a cell, by more than 1 %", false, SIZE_MAX,
                        "times are taken as they are: a lower clock counts as slower"},
    {"ecc", "error correction of the memory", false, OF_SIDE(device.ecc),
     "what error correction costs counts as a change"},
    {"mig", "multi-instance mode", false, OF_SIDE(device.mig),
     "a share of a GPU may be compared with the whole"},
    [CONTEXT_SASS] = {"sass", "machine code of a cell's kernel", false, SIZE_MAX,
                      "what other code costs counts as a change"},
    [CONTEXT_COUNTERS] = {"counters", "counters that BASE has and NEW has not", false, SIZE_MAX,
                          "times are compared without them"},
};
const size_t context_field_count = sizeof(context_fields) / sizeof(context_fields[0]);

/* -- pairing ----------------------------------------------------------------------------------- */

/* Walks the sorted cells of both sides of a GPU together. */
static void add_gpu(struct comparison *out, const struct side *base_side,
                    const struct side *new_side)
{
    struct compared_gpu *gpu = &out->gpus[out->gpu_count++];
    double *const moments[] = {base_side->moments, new_side->moments};
    const size_t files[] = {base_side->files, new_side->files};

    *gpu = (struct compared_gpu){
        .sides = {base_side, new_side},
        .identity = base_side->files > 0 ? &base_side->identity : &new_side->identity,
    };
    snprintf(gpu->name, sizeof(gpu->name), "%.*s",
             (int)strcspn(gpu->identity->device.uuid, "-") + 9, gpu->identity->device.uuid);
    for (size_t i = 0, k = 0; i < base_side->cell_count || k < new_side->cell_count;) {
        const int order = i == base_side->cell_count ? 1
                          : k == new_side->cell_count
                              ? -1
                              : cell_order(&base_side->cells[i].cell, &new_side->cells[k].cell);
        const struct side_cell *sides[] = {order <= 0 ? &base_side->cells[i++] : NULL,
                                           order >= 0 ? &new_side->cells[k++] : NULL};
        struct comparison_cell *cell = &out->cells[out->cell_count++];

        gpu->plans_differ |= order != 0;
        *cell = (struct comparison_cell){
            .cell = sides[order > 0]->cell,
            .gpu = gpu,
            .sides = {sides[BASE], sides[NEW]},
            .verdict = order > 0 ? VERDICT_NEW : VERDICT_MISSING,
            .judged = judged_unknown,
        };
        if (order == 0) {
            /* NaN: not known */
            const double clocks = sides[NEW]->clock.value / sides[BASE]->clock.value;

            cell->sass_differs = text_differs(sides[BASE]->sha256, sides[NEW]->sha256);
            if (cell->sass_differs && strcmp(sides[BASE]->sha256, SIDE_MIXED) != 0 &&
                strcmp(sides[NEW]->sha256, SIDE_MIXED) != 0)
                cell->code_moved = code_moved(sides[BASE]->code, sides[NEW]->code);
            cell->sass_differs = cell->sass_differs && cell->code_moved != 1u << CODE_OFFSETS;
            cell->differing = (uint32_t)cell->sass_differs << CONTEXT_SASS;
            if (clocks > 1 + clock_tolerance || 1 / clocks > 1 + clock_tolerance)
                cell->differing |= 1u << CONTEXT_CLOCKS;
        }
        gpu->differing |= cell->differing;
    }
    for (size_t i = 0; i < context_field_count; i++) {
        const size_t offset = context_fields[i].offset;

        if (offset != SIZE_MAX && text_differs((const char *)&base_side->identity + offset,
                                               (const char *)&new_side->identity + offset))
            gpu->differing |= 1u << i;
    }
    gpu->alone = base_side->files == 0 || new_side->files == 0;
    gpu->occasions = deviation_weight(moments, files, OCCASION_SECONDS);
    gpu->later = deviation_weight(moments, files, LATER_SECONDS);
    out->differing |= gpu->differing;
    out->plans_differ |= !gpu->alone && gpu->plans_differ;
}

/* -- what is known before times are judged ----------------------------------------------------- */

/* Notes why the results of a side that has the cell do not count. False: they count. */
static bool refuse_side(struct comparison_cell *cell, size_t side)
{
    const struct side_cell *its = cell->sides[side];

    if (its->status != CELL_OK)
        note(cell, "%s is %s%s%.180s", side_names[side], cell_status_names[its->status],
             its->reason && *its->reason ? ": " : "", its->reason ? its->reason : "");
    else if (its->process_count == 0)
        note(cell, "%s has no time", side_names[side]);
    for (size_t i = 0; i < INVALID_CAUSES; i++)
        if (its->invalid >> i & 1)
            note(cell, "%s is invalid: %s", side_names[side], invalid_rows[i].words);
    return its->status != CELL_OK || its->process_count == 0 || its->invalid;
}

/* The counter of that name; NULL if the cell of a side has none. */
static const struct side_counter *find_counter(const struct side_cell *cell, const char *name)
{
    for (size_t i = 0; i < cell->counter_count; i++)
        if (strcmp(cell->counters[i].name, name) == 0)
            return &cell->counters[i];
    return NULL;
}

/* NEW's value of a counter that both sides read. An exact one has changed where a process of NEW
 * read what no process of BASE did, even if the median has not. */
static double changed_value(const struct side_counter *base, const struct side_counter *new_one)
{
    if (base->kind != COUNTER_EXACT || new_one->kind != COUNTER_EXACT)
        return new_one->value;
    if (new_one->values[0] < base->values[0])
        return new_one->values[0];
    if (new_one->values[new_one->read - 1] > base->values[base->read - 1])
        return new_one->values[new_one->read - 1];
    return new_one->value;
}

/* Keeps the counters that changed: exact ones at all, measured ones by more than the threshold, a
 * share of BASE. Notes those of BASE that NEW has not, unless they may be missing. */
static enum status compare_counters(struct comparison_cell *cell, uint32_t allowed)
{
    const struct side_cell *base_cell = cell->sides[BASE];
    const bool may_lack = allowed >> CONTEXT_COUNTERS & 1;

    cell->changes = calloc(base_cell->counter_count + 1, sizeof(*cell->changes));
    if (!cell->changes)
        return log_memory("a comparison");
    for (size_t i = 0; i < base_cell->counter_count; i++) {
        const struct side_counter *base = &base_cell->counters[i];
        const struct side_counter *new_one = find_counter(cell->sides[NEW], base->name);
        double value;
        bool exact, changed;

        if (base->read == 0)
            continue;
        if (!new_one || new_one->read == 0) {
            cell->lost_counter = cell->lost_counter || may_lack ? cell->lost_counter : base->name;
            continue;
        }
        exact = base->kind == COUNTER_EXACT && new_one->kind == COUNTER_EXACT;
        value = changed_value(base, new_one);
        changed = exact ? value != base->value
                        : fabs(value - base->value) > COUNTER_THRESHOLD * fabs(base->value);
        if (changed)
            cell->changes[cell->change_count++] =
                (struct counter_change){base->name, base->kind, base->value, value};
        cell->exact_differs |= changed && exact;
    }
    if (cell->lost_counter)
        note(cell, "new has no value of base's counter %s", cell->lost_counter);
    return STATUS_OK;
}

/* Sets what is known of the variation of a cell before its times are judged. */
static void calibrate_cell(const struct comparison *comparison, struct comparison_cell *cell)
{
    const struct calibration *calibration = comparison->options.calibration;
    const char *why = NULL;

    /* The calibration may be of either side. */
    for (size_t i = 0; calibration && i < SIDES; i++) {
        const char *reason =
            calibration_deviation(calibration, &cell->cell, &cell->gpu->sides[i]->identity,
                                  cell->sides[i]->sha256, &cell->judged.before);

        if (!reason)
            return;
        why = why ? why : reason;
    }
    if (why)
        note(cell, "not calibrated: %s", why);
}

/* Sets the question about a cell of both sides, and whether its times are judged. */
static enum status prepare(const struct comparison *comparison, struct comparison_cell *cell,
                           uint32_t allowed)
{
    const struct side_cell *const *sides = cell->sides;
    struct judged_cell *judged = &cell->judged;
    enum status status;

    if (sides[BASE]->status == CELL_SKIPPED && sides[NEW]->status == CELL_SKIPPED) {
        cell->verdict = VERDICT_SAME;
        note(cell, "skipped on both sides");
        return STATUS_OK;
    }
    for (size_t i = 0; i < context_field_count; i++) {
        const uint32_t differing =
            context_fields[i].offset == SIZE_MAX ? cell->differing : cell->gpu->differing;

        if (differing & ~allowed & 1u << i)
            note(cell, "not comparable: %s differs", context_fields[i].name);
    }
    cell->timed = !cell->note[0];
    for (size_t i = 0; i < SIDES; i++)
        cell->timed &= !refuse_side(cell, i);
    cell->verdict = VERDICT_INVALID;
    /* What an interrupted run has not measured is as if it were not there. */
    if (sides[BASE]->status == CELL_PENDING || sides[NEW]->status == CELL_PENDING)
        cell->verdict = VERDICT_MISSING;
    if (!cell->timed)
        return STATUS_OK;
    status = compare_counters(cell, allowed);
    if (status != STATUS_OK)
        return status;
    calibrate_cell(comparison, cell);
    judged->plans_differ = cell->gpu->plans_differ ||
                           sides[BASE]->table_offsets != sides[NEW]->table_offsets ||
                           sides[BASE]->code_copies != sides[NEW]->code_copies;
    judged->occasions = cell->gpu->occasions;
    judged->later = cell->gpu->later;
    judged->cold = cell->cell.cache_state->flush;
    judged->copies = cell_waits_for_host(&cell->cell);
    judged->of_user = cell->cell.kernel.name[0];
    for (size_t i = 0; i < SIDES && !comparison->options.one_process; i++)
        judged->unmeasured |= side_unmeasured(&cell->gpu->sides[i]->identity, &cell->cell);
    judged->same_data = side_same_data(sides[BASE], sides[NEW]);
    judged->doubtful = (sides[BASE]->flags | sides[NEW]->flags) & FLAGS_DOUBTFUL;
    /* Within one process both sides have the same neighbour. */
    judged->contended = sides[NEW]->flags & FLAG_CONTENDED &&
                        !(sides[BASE]->flags & FLAG_CONTENDED && comparison->options.one_process);
    return comparison->options.boards ? sides_between(comparison->options.boards, sides[BASE],
                                                      cell->gpu->sides, &judged->other_boards)
                                      : STATUS_OK;
}

/* A cell that one side alone has guards nothing, but a bad one is named. */
static void prepare_alone(struct comparison_cell *cell)
{
    const size_t side = cell->sides[BASE] ? BASE : NEW;
    const struct side_cell *its = cell->sides[side];

    if ((its->invalid || its->status == CELL_FAILED) && refuse_side(cell, side))
        cell->verdict = VERDICT_INVALID;
}

/* -- the comparison ---------------------------------------------------------------------------- */

/* Worst first: by severity, then by the size of the change. Cells of GPUs that a side lacks come
 * last. */
static int compare_cells(const void *left, const void *right)
{
    const struct comparison_cell *a = left, *b = right;
    const double size_a = judged_change(&a->judged), size_b = judged_change(&b->judged);

    if (a->gpu->alone != b->gpu->alone)
        return a->gpu->alone - b->gpu->alone;
    if (a->verdict != b->verdict)
        return (int)b->verdict - (int)a->verdict;
    if (a->listed != b->listed)
        return b->listed - a->listed;
    if (size_a != size_b)
        return size_a < size_b ? 1 : -1;
    return a->gpu != b->gpu ? (a->gpu > b->gpu) - (a->gpu < b->gpu)
                            : cell_order(&a->cell, &b->cell);
}

/* Marks the cells that are listed, which come first, where all have one note. */
static void share_note(struct comparison *out)
{
    size_t listed = 0, alike = 0;

    for (size_t i = 0; i < out->cell_count; i++) {
        const struct comparison_cell *cell = &out->cells[i];

        listed += cell->listed;
        alike += cell->listed && cell->note[0] && strcmp(cell->note, out->cells[0].note) == 0;
    }
    for (size_t i = 0; alike == listed && listed > 1 && i < listed; i++)
        out->cells[i].note_shared = true;
}

/* Context fields that may differ: bit i is row i. */
static uint32_t allowed_fields(const struct selection *chosen)
{
    uint32_t allowed = 0;

    for (size_t i = 0; i < context_field_count; i++)
        allowed |= (uint32_t)context_fields[i].allowed << i;
    for (size_t i = 0; chosen && i < chosen->count; i++)
        allowed |= 1u << ((const struct context_field *)chosen->rows[i] - context_fields);
    return allowed;
}

/* Pairs the GPUs of both sides, and their cells. The only GPU of each side makes a pair. */
static void pair_gpus(struct comparison *out, const struct sides sides[SIDES])
{
    static const struct side none = {0};
    const struct sides *base = &sides[BASE], *new_sides = &sides[NEW];
    const bool single = base->count == 1 && new_sides->count == 1;

    for (size_t i = 0; i < base->count; i++) {
        const struct side *opposite =
            single ? new_sides->gpus : sides_find(new_sides, &base->gpus[i].identity.device);

        add_gpu(out, &base->gpus[i], opposite ? opposite : &none);
    }
    for (size_t i = 0; !single && i < new_sides->count; i++)
        if (!sides_find(base, &new_sides->gpus[i].identity.device))
            add_gpu(out, &none, &new_sides->gpus[i]);
}

/* Sets the times of a cell, which are shown also where they are not judged. */
static enum status set_times(struct comparison_cell *cell)
{
    for (size_t k = 0; k < SIDES; k++) {
        const struct side_cell *its = cell->sides[k];
        struct judged_side *side = &cell->judged.sides[k];
        enum status status;

        if (!its || its->process_count == 0)
            continue;
        side->processes = its->process_count;
        side->modelled = its->modelled;
        side->clock_mhz = its->clock.value;
        status = estimate_of(its->processes, its->process_count, its->modelled, &side->estimate);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

/* Reads the normal of the model, if the sides are boards of two kinds which it knows. */
static enum status read_kinds(const struct comparison *comparison, struct normal *out)
{
    const struct judge_options *options = &comparison->options.judge;
    const struct device_info *base = &comparison->sides[BASE]->identity.device,
                             *new_one = &comparison->sides[NEW]->identity.device;
    enum status status;
    bool found;

    *out = (struct normal){.kinds = NULL};
    if (!options->boards_differ || comparison->kinds != KINDS_TWO)
        return STATUS_OK;
    status = normal_read(NULL, base->name, out, &found);
    if (!normal_kind_of(out, &base->board) || !normal_kind_of(out, &new_one->board))
        normal_close(out);
    return status;
}

/* Judges the cells whose times may be. */
static enum status judge_cells(struct comparison *out, uint32_t allowed)
{
    struct judged_cell **judged = malloc((out->cell_count + 1) * sizeof(*judged));
    enum status status = judged ? STATUS_OK : log_memory("a comparison");
    struct normal normal = {.kinds = NULL};
    char identity[CELL_IDENTITY_BYTES];
    size_t count = 0;

    if (status == STATUS_OK)
        status = read_kinds(out, &normal);
    for (size_t i = 0; status == STATUS_OK && i < out->cell_count; i++) {
        struct comparison_cell *cell = &out->cells[i];

        if (cell->sides[BASE] && cell->sides[NEW])
            status = prepare(out, cell, allowed);
        else
            prepare_alone(cell);
        if (status == STATUS_OK)
            status = set_times(cell);
        cell_identity(&cell->cell, identity);
        cell->judged.kinds_apart = normal_apart(&normal, identity);
        if (cell->timed)
            judged[count++] = &cell->judged;
    }
    if (status == STATUS_OK)
        status = judge(judged, count, &out->options.judge);
    normal_close(&normal);
    free(judged);
    return status;
}

/* Compares the energy of a cell, and notes the change. Energy of BASE that NEW lacks is lost, like
 * a counter. */
static void conclude_energy(const struct compare_options *options, struct comparison_cell *cell)
{
    const struct side_energy *base = &cell->sides[BASE]->energy;
    char text[128];

    energy_compare(base, &cell->sides[NEW]->energy, options->judge.threshold,
                   options->judge.boards_differ, &cell->energy);
    if (cell->energy.given)
        note(cell, "%s", energy_change_text(&cell->energy, text, sizeof(text)));
    else if (base->processes > 0 && !cell->lost_counter)
        note(cell, "new has no %s", cell->lost_counter = "energy");
}

/* Takes the judge's verdict of a cell whose times are judged. A changed exact counter under equal
 * code is worse, whatever the time says, and so is more energy, unless another process took it. */
static void conclude(const struct compare_options *options, struct comparison_cell *cell)
{
    if (options->energy)
        conclude_energy(options, cell);
    cell->verdict = cell->judged.verdict;
    if (cell->verdict == VERDICT_INVALID)
        note(cell, "the times have no ratio");
    else if ((cell->exact_differs && !cell->sass_differs) ||
             (cell->energy.verdict == ENERGY_HIGHER && !cell->judged.contended))
        cell->verdict = VERDICT_REGRESSED;
    for (size_t bit = 0; bit < SIDES * CELL_FLAG_COUNT; bit++)
        if (cell->sides[bit / CELL_FLAG_COUNT]->flags >> bit % CELL_FLAG_COUNT & 1)
            note(cell, "%s is %s", side_names[bit / CELL_FLAG_COUNT],
                 cell_flag_names[bit % CELL_FLAG_COUNT]);
}

/* Sets what is known of a GPU as a whole. */
static void conclude_gpu(struct compared_gpu *gpu, uint32_t allowed)
{
    gpu->comparable = !(gpu->differing & ~allowed);
    gpu->verdict = !gpu->alone                   ? VERDICT_SAME
                   : gpu->sides[NEW]->files == 0 ? VERDICT_MISSING
                                                 : VERDICT_NEW;
    for (size_t i = 0; !gpu->alone && i < VERDICTS; i++)
        if (gpu->counts[i] > 0)
            gpu->verdict = (enum cell_verdict)i;
}

/* Concludes on all cells and GPUs, counts verdicts, and sorts. */
static void conclude_all(struct comparison *out, uint32_t allowed)
{
    for (size_t i = 0; i < out->cell_count; i++) {
        struct comparison_cell *cell = &out->cells[i];

        if (cell->timed)
            conclude(&out->options, cell);
        out->energies[cell->energy.verdict] += cell->energy.given;
        out->counters_lost += !!cell->lost_counter;
        out->lost_counter = out->lost_counter ? out->lost_counter : cell->lost_counter;
        out->decided += cell->timed && verdict_rows[cell->verdict].status != STATUS_INCONCLUSIVE &&
                        cell->verdict != VERDICT_INVALID;
        out->held +=
            (cell->judged.held || cell->judged.withheld) && cell->verdict == VERDICT_INCONCLUSIVE;
        out->withheld += cell->judged.withheld && cell->verdict == VERDICT_INCONCLUSIVE;
        out->unguarded += cell->timed && cell->sides[BASE]->flags & FLAGS_DOUBTFUL;
        cell->listed =
            !cell->gpu->alone && (cell->verdict != VERDICT_SAME ||
                                  (out->options.jit && (cell->sass_differs || cell->code_moved)));
        out->unlisted += cell->verdict == VERDICT_SAME && !cell->listed;
        out->counts[cell->verdict]++;
        cell->gpu->counts[cell->verdict]++;
    }
    out->common = out->cell_count - out->counts[VERDICT_MISSING] - out->counts[VERDICT_NEW];
    out->refused = out->differing & ~allowed;
    for (size_t i = 0; i < out->gpu_count; i++) {
        conclude_gpu(&out->gpus[i], allowed);
        out->comparable |= out->gpus[i].comparable && out->common > 0;
    }
    qsort(out->cells, out->cell_count, sizeof(*out->cells), compare_cells);
    share_note(out);
}

/* Whether both are boards of one kind: of one model, part number and groups of SMs. Two models are
 * two kinds, and no normal knows both. */
static enum board_kinds kinds_of(const struct device_info *base, const struct device_info *new_one)
{
    return strcmp(base->name, new_one->name) == 0 ? board_kinds(&base->board, &new_one->board)
                                                  : KINDS_TWO;
}

enum status compare_sides(const struct sides sides[SIDES], const struct compare_options *options,
                          struct comparison *out)
{
    const struct sides *base = &sides[BASE], *new_sides = &sides[NEW];
    const bool single = base->count == 1 && new_sides->count == 1;
    const uint32_t allowed = allowed_fields(options->allowed) | (uint32_t)options->jit
                                                                    << CONTEXT_SASS;
    size_t cells = 0;
    enum status status;

    *out = (struct comparison){.sides = {&base->total, &new_sides->total},
                               .options = *options,
                               .findings = {base->total.findings, new_sides->total.findings}};
    if (!single && options->allowed && allowed >> CONTEXT_UUID & 1)
        return log_error(STATUS_USAGE,
                         "--allow-diff uuid takes one GPU on each side; BASE has %zu, NEW %zu",
                         base->count, new_sides->count);
    for (size_t i = 0; i < SIDES; i++)
        for (size_t k = 0; k < sides[i].count; k++)
            cells += sides[i].gpus[k].cell_count;
    out->gpus = calloc(base->count + new_sides->count + 1, sizeof(*out->gpus));
    out->cells = calloc(cells + 1, sizeof(*out->cells));
    if (!out->gpus || !out->cells) {
        comparison_close(out);
        return log_memory("a comparison");
    }
    pair_gpus(out, sides);
    lone_cells_note(out, sides);
    out->options.judge.clocks_allowed = allowed >> CONTEXT_CLOCKS & 1;
    out->options.judge.boards_differ =
        single &&
        text_differs(base->total.identity.device.uuid, new_sides->total.identity.device.uuid);
    out->kinds = kinds_of(&base->total.identity.device, &new_sides->total.identity.device);
    out->options.judge.same_kind = out->kinds == KINDS_ONE;
    status = judge_cells(out, allowed);
    if (status == STATUS_OK)
        conclude_all(out, allowed);
    else
        comparison_close(out);
    return status;
}

bool comparison_lacks_energy(const struct comparison *comparison)
{
    size_t count = 0;

    for (size_t i = 0; i < ENERGY_VERDICTS; i++)
        count += comparison->energies[i];
    return comparison->options.energy && count == 0;
}

enum status comparison_status(const struct comparison *comparison, bool strict)
{
    const size_t *counts = comparison->counts;
    enum status status = comparison->comparable ? STATUS_OK : STATUS_ENVIRONMENT;

    for (size_t i = 0; i < VERDICTS; i++)
        if (counts[i] > 0)
            status = status_worse(status, verdict_rows[i].status);
    for (size_t i = 0; i < SIDES; i++)
        if (comparison->findings[i] > 0)
            status = status_worse(status, STATUS_FINDING);
    if (comparison->decided == 0 || comparison->counters_lost > 0 || comparison->held > 0 ||
        counts[VERDICT_CONTENDED] > 0)
        return status_worse(status, STATUS_INCONCLUSIVE);
    if (comparison_lacks_energy(comparison))
        return status_worse(status, STATUS_INCONCLUSIVE);
    return status == STATUS_INCONCLUSIVE && !strict ? STATUS_OK : status;
}

void comparison_close(struct comparison *comparison)
{
    for (size_t i = 0; i < comparison->cell_count; i++)
        free(comparison->cells[i].changes);
    free(comparison->cells);
    free(comparison->gpus);
    *comparison = (struct comparison){0};
}
