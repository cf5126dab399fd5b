/* SPDX-License-Identifier: MIT
 * The sentences of a comparison: its outcome, what differs between the sides, and what intervals
 * hold beside the samples. */
#include "report_words.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "text.h"
#include "user_cell.h"

#define add(line, ...) text_join(line, LINE_BYTES, "", __VA_ARGS__)

/* -- sentences --------------------------------------------------------------------------------- */

const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

void summary_line(const struct comparison *comparison, char line[LINE_BYTES])
{
    const enum status status = comparison_status(comparison, true);
    const char *separator = ": ";

    snprintf(line, LINE_BYTES, "%s",
             !comparison->comparable                     ? "NEW cannot be compared with BASE"
             : comparison->counts[VERDICT_REGRESSED] > 0 ? "NEW is worse"
             : status == STATUS_FINDING                  ? "NEW does not pass"
             : status == STATUS_INCONCLUSIVE             ? "NEW may be worse"
             : comparison->counts[VERDICT_IMPROVED] > 0  ? "NEW is better"
                                                         : "NEW is the same");
    if (comparison_status(comparison, false) == STATUS_INCONCLUSIVE)
        add(line, "%s (exit 4)",
            comparison->counts[VERDICT_CONTENDED] > 0 ? ", as another process used the GPU"
            : comparison->withheld > 0      ? ", as one process a side of a kernel tells no change"
            : comparison->decided == 0      ? ", as no cell could be decided"
            : comparison->counters_lost > 0 ? ", as it lacks counters of BASE"
            : comparison_lacks_energy(comparison) ? ", as no cell has energy on both sides"
                                                  : ", as cells beyond the threshold are flagged");
    for (size_t i = 0; i < context_field_count; i++)
        if (comparison->refused >> i & 1)
            add(line, ", %s differs", context_fields[i].name);
    if (comparison->common == 0)
        add(line, ", no cell in common");
    for (size_t i = VERDICTS; i-- > 0;)
        if (comparison->counts[i] > 0) {
            add(line, "%s%zu %s", separator, comparison->counts[i], verdict_rows[i].name);
            separator = ", ";
        }
    add(line, " of %zu cell%s", comparison->cell_count, plural(comparison->cell_count));
    if (comparison->gpu_count != 1)
        add(line, " of %zu GPUs", comparison->gpu_count);
    add(line, " (threshold %.4g %%)", 100 * comparison->options.judge.threshold);
}

void context_texts(const struct comparison *comparison, size_t field,
                   char texts[SIDES][DEVICE_TEXT_BYTES])
{
    const size_t offset = context_fields[field].offset;
    /* SM clocks, MHz, of the cells that differ */
    double low[SIDES] = {INFINITY, INFINITY}, high[SIDES] = {0};
    size_t count = 0;

    for (size_t i = 0; i < comparison->cell_count; i++)
        if (comparison->cells[i].differing >> field & 1) {
            count++;
            for (size_t side = 0; side < SIDES; side++) {
                low[side] = fmin(low[side], comparison->cells[i].judged.sides[side].clock_mhz);
                high[side] = fmax(high[side], comparison->cells[i].judged.sides[side].clock_mhz);
            }
        }
    for (size_t side = 0; side < SIDES; side++)
        if (field == CONTEXT_CLOCKS && high[side] - low[side] < 1)
            snprintf(texts[side], DEVICE_TEXT_BYTES, "%.0f MHz", high[side]);
        else if (field == CONTEXT_CLOCKS)
            snprintf(texts[side], DEVICE_TEXT_BYTES, "%.0f to %.0f MHz", low[side], high[side]);
        else if (offset == SIZE_MAX)
            snprintf(texts[side], DEVICE_TEXT_BYTES, "%zu cell%s", count, plural(count));
        else
            snprintf(texts[side], DEVICE_TEXT_BYTES, "%s",
                     (const char *)&comparison->sides[side]->identity + offset);
}

uint64_t comparison_needs(const struct comparison *comparison)
{
    uint64_t most = 0;

    for (size_t i = 0; i < comparison->cell_count && !comparison->options.one_process; i++)
        if (comparison->cells[i].judged.settle > most &&
            comparison->cells[i].verdict == VERDICT_INCONCLUSIVE)
            most = comparison->cells[i].judged.settle;
    return most;
}

void settle_line(const struct comparison *comparison, char line[LINE_BYTES])
{
    const uint64_t processes = comparison_needs(comparison);

    size_t unknown = 0;

    line[0] = '\0';
    for (size_t i = 0; i < comparison->cell_count; i++)
        unknown += comparison->cells[i].verdict == VERDICT_INCONCLUSIVE &&
                   judged_noise_unknown(&comparison->cells[i].judged);
    if (unknown > 0)
        add(line,
            "measure three processes %s: nothing was measured of the noise of %zu cell%s; cbank "
            "gate measures as many as it takes",
            comparison->options.judge.base_fixed ? "of NEW" : "a side", unknown, plural(unknown));
    else if (processes > 0)
        add(line,
            "%" PRIu64 " processes %s would settle what can be; cbank gate --processes %" PRIu64
            " measures them",
            processes, comparison->options.judge.base_fixed ? "of NEW" : "a side", processes);
}

/* -- remarks ----------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void say(const struct remark_sink *sink,
                                                      const char *format, ...)
{
    char line[LINE_BYTES];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    sink->put(sink, line);
}

/* A cell of each side, where none is on both: what differs in them is what was asked for. */
static void remark_apart(const struct comparison *comparison, const struct remark_sink *sink)
{
    char identities[SIDES][CELL_IDENTITY_BYTES] = {"", ""};

    for (size_t i = comparison->cell_count; i-- > 0;)
        for (size_t side = 0; side < SIDES; side++)
            if (comparison->cells[i].sides[side])
                cell_identity(&comparison->cells[i].cell, identities[side]);
    if (identities[BASE][0] && identities[NEW][0])
        say(sink, "BASE has cells such as %s, NEW such as %s; measure both with the same options",
            identities[BASE], identities[NEW]);
}

void remark_missing(const struct comparison *comparison, const struct remark_sink *sink)
{
    bool said = false;

    for (size_t i = 0; i < comparison->cell_count; i++) {
        const struct comparison_cell *cell = &comparison->cells[i];
        bool before = cell->verdict != VERDICT_MISSING || !cell->note[0];

        for (size_t k = 0; k < i && !before; k++)
            before = strcmp(comparison->cells[k].note, cell->note) == 0;
        if (!before)
            say(sink, "%s", cell->note);
        said |= !before;
    }
    if (comparison->common == 0 && !said)
        remark_apart(comparison, sink);
}

static void remark_sides(const struct comparison *comparison, const struct remark_sink *sink)
{
    for (size_t i = 0; i < SIDES; i++) {
        const struct side *side = comparison->sides[i];
        const struct device_info *device = &side->identity.device;

        say(sink, "%s: %.600s: %zu result%s of %s, engine %s, driver %s%s",
            i == BASE ? "BASE" : "NEW", side->label, side->files, plural(side->files), device->name,
            side->identity.engine, device->driver[0] ? device->driver : "unknown",
            side->identity.modelled ? "; modelled: its times are predictions" : "");
    }
}

/* A context field that differs, and what it is on each side. */
static void remark_difference(const struct comparison *comparison, size_t index,
                              const struct remark_sink *sink)
{
    const struct context_field *field = &context_fields[index];
    const bool refused = comparison->refused >> index & 1,
               of_sides = index == CONTEXT_CLOCKS || field->offset != SIZE_MAX;
    char texts[SIDES][DEVICE_TEXT_BYTES];

    context_texts(comparison, index, texts);
    say(sink, "%s differs: %s%s%s%s%s%s%s", field->name, texts[BASE], of_sides ? " -> " : "",
        of_sides ? texts[NEW] : "",
        !refused      ? ""
        : field->then ? "; not comparable, unless --allow-diff "
                      : "; not comparable: measure both sides alike",
        refused && field->then ? field->name : "", refused && field->then ? ", with which " : "",
        refused && field->then ? field->then : "");
}

/* What the programs of a side said, and GPUs that are not the same. */
static void remark_outcomes(const struct comparison *comparison, const struct remark_sink *sink)
{
    if (comparison->counters_lost > 0)
        say(sink,
            "NEW lacks counters of BASE in %zu of %zu cells, such as %s; with --allow-diff "
            "counters times alone are compared",
            comparison->counters_lost, comparison->common, comparison->lost_counter);
    if (comparison_lacks_energy(comparison))
        say(sink, "no cell has energy on both sides: cbank run --energy measures it");
    else if (comparison->options.energy)
        say(sink,
            "energy of a launch, by intervals of the processes alone: %zu cells higher, %zu "
            "lower, %zu the same, %zu not told, which needs three processes a side on one GPU, "
            "and intervals that do not reach across the threshold; --all lists them",
            comparison->energies[ENERGY_HIGHER], comparison->energies[ENERGY_LOWER],
            comparison->energies[ENERGY_SAME], comparison->energies[ENERGY_NOT_TOLD]);
    if (comparison->counts[VERDICT_CONTENDED] > 0)
        say(sink, "another process used the GPU of NEW: measure again alone");
    if (comparison->unguarded > 0)
        say(sink,
            "BASE is flagged in %zu of %zu cells: they guard nothing, as a change of less than ten "
            "times the threshold cannot be told; measure BASE again",
            comparison->unguarded, comparison->common);
    for (size_t i = 0; i < SIDES; i++)
        if (comparison->findings[i] > 0)
            say(sink, "%s: a program exited with 1 in %zu of %zu processes", side_names[i],
                comparison->findings[i], comparison->sides[i]->files);
    for (size_t i = 0; comparison->gpu_count != 1 && i < comparison->gpu_count; i++) {
        const struct compared_gpu *gpu = &comparison->gpus[i];

        if (gpu->verdict != VERDICT_SAME)
            say(sink, "%s%s%s: %s", gpu->name, *gpu->identity->host.name ? " on " : "",
                gpu->identity->host.name, verdict_rows[gpu->verdict].name);
    }
}

char *kinds_words(const struct comparison *comparison, char line[LINE_BYTES])
{
    const struct device_info *const devices[] = {&comparison->sides[BASE]->identity.device,
                                                 &comparison->sides[NEW]->identity.device};
    const struct board *base = &devices[BASE]->board, *new_one = &devices[NEW]->board;
    char text[BOARD_TEXT_BYTES];

    if (strcmp(devices[BASE]->name, devices[NEW]->name) != 0)
        snprintf(line, LINE_BYTES, "of two models");
    else if (comparison->kinds == KINDS_ONE)
        snprintf(line, LINE_BYTES, "boards of one kind (%s)", board_kind(base, text));
    else if (comparison->kinds == KINDS_TWO)
        snprintf(line, LINE_BYTES, "boards of two kinds (NEW has %s)",
                 board_difference(base, new_one, text));
    else
        snprintf(line, LINE_BYTES, "and their kinds are not known (%s: %s)",
                 board_kinds(base, base) == KINDS_UNKNOWN ? "BASE" : "NEW",
                 board_kind(board_kinds(base, base) == KINDS_UNKNOWN ? base : new_one, text));
    return line;
}

/* Facts about all cells together. */
struct cell_facts {
    const struct judged_cell *furthest; /* whose clock moved most; NULL: none moved */
    size_t assumed, widest, moved, by_boards, repeated; /* cells */
    double noise; /* the most of what is the widest */
    double occasions, later; /* the most of any cell */
    /* of GPUs of the model: the most, and the fewest degrees */
    struct deviation board;
};

static struct cell_facts gather_facts(const struct comparison *comparison)
{
    struct cell_facts facts = {.board.degrees = INFINITY};

    for (size_t i = 0; i < comparison->cell_count; i++) {
        const struct judged_cell *judged = &comparison->cells[i].judged;

        facts.repeated += judged->same_data;
        facts.moved += judged->clock_ratio != 1;
        if (judged->clock_ratio != 1 &&
            (!facts.furthest ||
             fabs(log(judged->clock_ratio)) > fabs(log(facts.furthest->clock_ratio))))
            facts.furthest = judged;
        facts.assumed += judged->has_deviation && judged->deviation.origin == DEVIATION_DEFAULT;
        if (judged->has_deviation && judged->deviation.origin == DEVIATION_WIDEST) {
            facts.widest++;
            facts.noise = fmax(facts.noise, judged->deviation.value);
        }
        facts.occasions = fmax(facts.occasions, judged->occasion_error);
        facts.later = fmax(facts.later, judged->later);
        if (judged->has_board) {
            facts.by_boards += judged->board.origin == DEVIATION_BOARDS;
            facts.board.value = fmax(facts.board.value, judged->board.value);
            facts.board.degrees = fmin(facts.board.degrees, judged->board.degrees);
        }
    }
    return facts;
}

/* What intervals hold beside the samples. */
static void remark_intervals(const struct comparison *comparison, const struct remark_sink *sink)
{
    const struct judge_options *judge = &comparison->options.judge;
    const struct cell_facts facts = gather_facts(comparison);
    const struct judged_cell *furthest = facts.furthest;
    char kinds[LINE_BYTES];

    if (facts.repeated > 0)
        say(sink, "%zu of %zu cells have the same samples on both sides: that is one measurement",
            facts.repeated, comparison->common);
    if (comparison->plans_differ)
        say(sink,
            "the plans differ: intervals hold what other buffers add; measure one plan on both "
            "sides");
    if (facts.board.value > 0)
        say(sink,
            "the sides are of two GPUs, %s: intervals hold what GPUs of a %s differ by, a "
            "deviation up to %.2g %%. It has %.2g degrees of freedom or more: by default, and in "
            "%zu cell%s by other GPUs (--boards)",
            kinds_words(comparison, kinds), judge->same_kind ? "kind" : "model",
            100 * facts.board.value, facts.board.degrees, facts.by_boards, plural(facts.by_boards));
    if (facts.occasions > 0)
        say(sink,
            "the sides were measured on other occasions: intervals hold what these differ by, up "
            "to %.2g %% (%s)",
            100 * facts.occasions, facts.later > 0 ? LATER_BASIS : OCCASION_BASIS);
    if (facts.moved > 0)
        say(sink,
            "the SM clock of NEW is up to %.2f%% %s (%.0f -> %.0f MHz) in %zu cell%s: a change "
            "must show in times and in cycles; with --allow-diff clocks %s",
            100 * fabs(1 / furthest->clock_ratio - 1),
            furthest->clock_ratio > 1 ? "lower" : "higher", furthest->sides[BASE].clock_mhz,
            furthest->sides[NEW].clock_mhz, facts.moved, plural(facts.moved),
            context_fields[CONTEXT_CLOCKS].then);
    if (facts.assumed > 0 && !comparison->options.one_process)
        say(sink,
            "intervals of %zu cell%s rest on a default deviation between processes; cbank "
            "calibrate measures it",
            facts.assumed, plural(facts.assumed));
    if (facts.widest > 0)
        say(sink,
            "of %zu cell%s the GPU model, the kernel or the memory space has no data of its own: "
            "intervals rest on the widest noise that is known, here %.2g %% between processes",
            facts.widest, plural(facts.widest), 100 * facts.noise);
    if (judge->other_analyses > 0)
        say(sink,
            "one of at most %u interim analyses: intervals are of %.4g %%, and p counts the "
            "analyses",
            1 + judge->other_analyses, 100 * (1 - judge_level(judge)));
}

/* What another compiler did: cells by whether their code is another, and these by their time. */
static void remark_compilers(const struct comparison *comparison, const struct remark_sink *sink)
{
    size_t differing = 0, timed[VERDICTS] = {0}, parts[CODE_PARTS] = {0};
    bool by_driver = false;

    for (size_t i = 0; i < comparison->cell_count; i++) {
        const struct comparison_cell *cell = &comparison->cells[i];

        for (size_t side = 0; side < SIDES; side++)
            by_driver |= cell->sides[side] && cell->sides[side]->jit;
        if (!cell->sass_differs && !cell->code_moved)
            continue;
        differing++;
        timed[cell->verdict]++;
        for (size_t k = 0; k < CODE_PARTS; k++)
            parts[k] += cell->code_moved >> k & 1;
    }
    if (!by_driver)
        say(sink, "no cell was compiled by a driver: cbank run --jit measures it");
    say(sink,
        "compilers: the code of %zu of %zu cells is another (in %zu opcodes, in %zu operands, in "
        "%zu constant offsets, in %zu scheduling); of these %zu are as fast, %zu faster, %zu "
        "slower, and of %zu it is not decided",
        differing, comparison->common, parts[CODE_OPCODES], parts[CODE_OPERANDS],
        parts[CODE_OFFSETS], parts[CODE_SCHEDULING], timed[VERDICT_SAME], timed[VERDICT_IMPROVED],
        timed[VERDICT_REGRESSED],
        differing - timed[VERDICT_SAME] - timed[VERDICT_IMPROVED] - timed[VERDICT_REGRESSED]);
}

void remark_whole(const struct comparison *comparison, const struct remark_sink *sink)
{
    char line[LINE_BYTES];

    remark_sides(comparison, sink);
    for (size_t i = 0; i < context_field_count; i++)
        if (comparison->differing >> i & 1)
            remark_difference(comparison, i, sink);
    remark_outcomes(comparison, sink);
    if (comparison->options.jit)
        remark_compilers(comparison, sink);
    remark_intervals(comparison, sink);
    settle_line(comparison, line);
    if (line[0])
        say(sink, "%s", line);
    if (comparison->cell_count > 0 && comparison->cells[0].note_shared && comparison->comparable)
        say(sink, "every cell below: %s", comparison->cells[0].note);
}
