/* SPDX-License-Identifier: MIT
 * What would settle a comparison: how many processes, and the command. */
#include <stdio.h>
#include <string.h>

#include "compare_report.h"
#include "text.h"

#define COUNT(array)   (sizeof(array) / sizeof((array)[0]))
#define add(line, ...) text_join(line, LINE_BYTES, "", __VA_ARGS__)

static size_t greater(size_t one, size_t other)
{
    return one > other ? one : other;
}

/* Options of cbank run that say nothing of what is measured, and whether the word behind them is their value. */
static const struct own_option {
    const char *name;
    bool value;
} own_options[] = {
    {"--json", true},   {"--resume", true},  {"--patience", true},      {"--color", true},
    {"--quiet", false}, {"--strict", false}, {"--retry-failed", false},
};

/* The option that a word is, alone or with its value; NULL for others. */
static const struct own_option *own_option(const char *word)
{
    for (size_t i = 0; i < COUNT(own_options); i++) {
        const size_t bytes = strlen(own_options[i].name);

        if (strncmp(word, own_options[i].name, bytes) == 0 && (!word[bytes] || word[bytes] == '='))
            return &own_options[i];
    }
    return NULL;
}

/* The plan of the first process of a side: what stood on its line behind the command. Sets its program; false where that
 * is not known. */
static bool plan_of(const struct side *side, char program[RESULT_ARGV_BYTES], char plan[RESULT_ARGV_BYTES])
{
    char copy[RESULT_ARGV_BYTES], *rest = copy;

    memcpy(copy, side->argv, sizeof(copy));
    snprintf(program, RESULT_ARGV_BYTES, "%s", strsep(&rest, " "));
    plan[0] = '\0';
    if (!rest || strcmp(strsep(&rest, " "), "run") != 0)
        return false;
    for (char *word; (word = strsep(&rest, " "));) {
        const struct own_option *own = own_option(word);

        if (own && own->value && !strchr(word, '='))
            strsep(&rest, " ");
        else if (!own)
            text_join(plan, RESULT_ARGV_BYTES, "", " %s", word);
    }
    return true;
}

/* Whether both sides can be measured here again, in turn: one plan, and the same surroundings. */
static bool can_alternate(const struct comparison *comparison, const char *base_plan, const char *new_plan)
{
    for (size_t i = 0; i < comparison->difference_count; i++)
        if (!comparison->differences[i].facet->cell_differs)
            return false;
    return strcmp(base_plan, new_plan) == 0;
}

/* What was asked for of the comparison, as options. */
static void add_options(const struct compare_options *options, char line[LINE_BYTES])
{
    if (options->threshold != 0.01)
        add(line, " --threshold %.6g", 100 * options->threshold);
    for (size_t i = 0; options->allowed && i < options->allowed->count; i++)
        add(line, "%s%s", i ? "," : " --allow-diff ", ((const struct facet *)options->allowed->rows[i])->name);
    if (options->calibration_path)
        add(line, " --calibration %.200s", options->calibration_path);
}

/* The commands that measure more of sides that are files: a gate, or where that cannot be, more files. */
static void add_commands(const struct comparison *comparison, size_t missing, size_t gate, char line[LINE_BYTES])
{
    const struct side *const *sides = comparison->sides;
    char programs[SIDES][RESULT_ARGV_BYTES], plans[SIDES][RESULT_ARGV_BYTES];

    for (size_t i = 0; i < SIDES; i++)
        if (!plan_of(sides[i], programs[i], plans[i]))
            return;
    if (can_alternate(comparison, plans[BASE], plans[NEW])) {
        add(line, ": cbank gate --base-program %s --new-program %s%s --processes %zu", programs[BASE], programs[NEW],
            plans[BASE], gate);
        add_options(&comparison->options, line);
        return;
    }
    add(line, ": mkdir -p more-base more-new; for i in $(seq %zu); do ", missing);
    for (size_t i = 0; i < SIDES; i++)
        add(line, "%s run%s --quiet --json more-%s/$i.json; ", programs[i], plans[i], side_names[i]);
    add(line, "done; cbank compare %.200s,more-base %.200s,more-new", sides[BASE]->label, sides[NEW]->label);
    add_options(&comparison->options, line);
}

void settle_line(const struct comparison *comparison, char line[LINE_BYTES])
{
    const struct side *base = comparison->sides[BASE], *new_side = comparison->sides[NEW];
    const size_t have = base->files < new_side->files ? base->files : new_side->files;
    size_t count = 0, processes = 0, gate = 0;
    enum measured of = MEASURED_BOTH;

    line[0] = '\0';
    for (size_t i = 0; i < comparison->cell_count; i++) {
        const struct comparison_cell *cell = &comparison->cells[i];

        if (cell->settle == 0)
            continue;
        count++;
        of = cell->settle_of;
        processes = greater(processes, cell->settle);
        gate = greater(gate, cell->gate ? cell->gate : PROCESSES_TO_SETTLE_MOST);
    }
    if (count == 0)
        return;
    add(line, "%zu processes %s would settle %zu of the %zu that are inconclusive", processes, measured_names[of],
        count, comparison->counts[VERDICT_INCONCLUSIVE]);
    if (comparison->options.again)
        add(line, ": %s --processes %zu", comparison->options.again, processes);
    else if (!comparison_is_by_gpu(comparison))
        add_commands(comparison, processes - have, gate, line);
}
