/* SPDX-License-Identifier: MIT
 * The findings of a characterization as text. A screen has a line for each path and for each level,
 * then the sentences of verdicts; --all has every number with its interval and reason. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "characterization.h"
#include "grid.h"
#include "log.h"
#include "text.h"
#include "text_print.h"

enum { INDENT = 2 };

/* Prints a line of its own, wrapped. */
#define print_line(columns, first, ...)                            \
    text_paragraph((struct text_wrap){.stream = stdout,            \
                                      .width = (columns),          \
                                      .column = (first),           \
                                      .indent = (first) + INDENT}, \
                   __VA_ARGS__)

/* A path, and what its experiments found. */
enum { QUANTITIES = 4 };

struct path_line {
    const char *path;
    char values[QUANTITIES][32];
};

static const char *const quantities[QUANTITIES] = {"latency", "latency_per_extra_address",
                                                   "cycles_per_load_per_extra_address",
                                                   "broadcast_bandwidth"};

#define QUANTITY(index, heading_) \
    .heading = heading_, .value = grid_array, .member = GRID_MEMBER(struct path_line, values[index])

static const struct grid_column path_columns[] = {
    {.heading = "path",
     .value = grid_text,
     .member = GRID_MEMBER(struct path_line, path),
     .head = true},
    {QUANTITY(0, "latency")},
    {QUANTITY(1, "latency"), .group = "an extra address"},
    {QUANTITY(2, "throughput"), .group = "an extra address"},
    {QUANTITY(3, "bytes a cycle and SM"), .group = "broadcast"},
};

struct level_line {
    const char *experiment;
    uint32_t number;
    char cycles[40];
    const struct geometry_level *level;
};

#define OF_LEVEL(name)                           \
    .value = grid_integer, .format = text_count, \
    .member = GRID_BEHIND(struct level_line, level, struct geometry_level, name.value)

static const struct grid_column level_columns[] = {
    {.heading = "caches",
     .value = grid_text,
     .member = GRID_MEMBER(struct level_line, experiment),
     .head = true},
    {.heading = "level",
     .value = grid_integer,
     .format = text_count,
     .member = GRID_MEMBER(struct level_line, number),
     .head = true},
    {.heading = "cycles", .value = grid_array, .member = GRID_MEMBER(struct level_line, cycles)},
    {.heading = "bytes", OF_LEVEL(capacity_bytes)},
    {.heading = "line", OF_LEVEL(line_bytes)},
    {.heading = "fetched", OF_LEVEL(fetch_bytes)},
    {.heading = "ways", OF_LEVEL(ways)},
    {.heading = "sets", OF_LEVEL(sets)},
    {.heading = "replacement",
     .value = grid_array,
     .member = GRID_BEHIND(struct level_line, level, struct geometry_level, replacement_name),
     .below = true},
};

/* The range of an outcome's numbers of one name; low is above high where there is none. */
struct range {
    double low, high;
    size_t count;
};

static struct range range_of(const struct outcome *outcome, const char *name)
{
    struct range range = {INFINITY, -INFINITY, 0};

    for (size_t k = 0; k < outcome->number_count; k++)
        if (strcmp(outcome->numbers[k].name, name) == 0) {
            range.low = fmin(range.low, outcome->numbers[k].value);
            range.high = fmax(range.high, outcome->numbers[k].value);
            range.count++;
        }
    return range;
}

/* The line of the outcome's path; a new one is added and counted. */
static struct path_line *line_of_path(struct path_line *lines, size_t *count,
                                      const struct outcome *outcome)
{
    struct path_line *line = lines;

    while (line->path && strcmp(line->path, outcome->experiment.path) != 0)
        line++;
    *count += !line->path;
    line->path = outcome->experiment.path;
    return line;
}

/* Fills the quantities that no earlier outcome of the path had. */
static void fill_path(struct path_line *line, const struct outcome *outcome)
{
    for (size_t q = 0; q < QUANTITIES; q++) {
        const struct range range = range_of(outcome, quantities[q]);

        if (line->values[q][0] || range.low > range.high)
            continue;
        snprintf(line->values[q], sizeof(line->values[q]),
                 range.high - range.low < 0.005 ? "%.4g" : "%.4g to %.4g",
                 fabs(range.low) < 0.0005 ? 0 : range.low, range.high);
    }
}

static struct level_line level_line(const struct outcome *outcome, size_t k)
{
    const struct geometry_level *level = &outcome->geometry->level[k];
    const struct summary *latency = &level->latency;
    struct level_line line = {strchr(outcome->experiment.name, '_') + 1, k + 1, "", level};

    if (isfinite(latency->value))
        snprintf(line.cycles, sizeof(line.cycles),
                 latency->ci_high > latency->ci_low ? "%.4g, %.3g to %.3g" : "%.4g", latency->value,
                 latency->ci_low, latency->ci_high);
    return line;
}

/* Prints the tables of paths and of levels. */
static enum status print_tables(const struct characterization *characterization)
{
    const size_t count = characterization->count;
    const struct print_style look = {.width = text_width(stdout)};
    struct path_line *paths = calloc(count + 1, sizeof(*paths));
    struct level_line *levels = calloc(count * GEOMETRY_LEVELS_MAX + 1, sizeof(*levels));
    struct grid path_grid = {GRID_COLUMNS(path_columns), GRID_ROWS(paths, 0)};
    struct grid level_grid = {GRID_COLUMNS(level_columns), GRID_ROWS(levels, 0)};
    enum status status;

    if (!paths || !levels) {
        status = log_memory("the findings of experiments");
        goto out;
    }
    for (size_t i = 0; i < count; i++) {
        const struct outcome *outcome = &characterization->outcomes[i];

        fill_path(line_of_path(paths, &path_grid.row_count, outcome), outcome);
        for (size_t k = 0; outcome->geometry && k < outcome->geometry->level_count; k++)
            levels[level_grid.row_count++] = level_line(outcome, k);
    }
    status = grid_print(stdout, &path_grid, &look);
    if (status != STATUS_OK || level_grid.row_count == 0)
        goto out;
    putchar('\n');
    status = grid_print(stdout, &level_grid, &look);
out:
    free(levels);
    free(paths);
    return status;
}

/* Prints the streams of an outcome on a line: what was read, and what was copied. */
static void print_streams(const struct outcome *outcome)
{
    static const struct {
        const char *prefix, *verb;
    } streams[] = {{"read_", "reads"}, {"copy_", "copies"}};
    char rates[TEXT_PARAGRAPH_BYTES / 2] = "";

    if (strncmp(outcome->experiment.name, "bandwidth_", strlen("bandwidth_")) != 0)
        return;
    for (size_t k = 0; k < outcome->number_count; k++) {
        const struct number *number = &outcome->numbers[k];

        for (size_t s = 0; s < sizeof(streams) / sizeof(streams[0]); s++) {
            if (strncmp(number->name, streams[s].prefix, strlen(streams[s].prefix)) != 0 ||
                isnan(number->value))
                continue;
            text_join(rates, sizeof(rates), ", ", "%s %.4g %s", streams[s].verb, number->value,
                      number->unit);
            if (number->stride)
                text_join(rates, sizeof(rates), " ", "by loads of %u bytes", number->stride);
        }
    }
    if (rates[0])
        print_line(text_width(stdout), 0, "%s: %s", outcome->experiment.name, rates);
}

/* Prints the verdict of an outcome, with the names of all paths of which it holds, unless an
 * earlier one had its sentence. */
static void print_verdict(const struct characterization *characterization, size_t i, size_t v)
{
    const struct verdict *verdict = &characterization->outcomes[i].verdicts[v];
    char names[TEXT_PARAGRAPH_BYTES] = "";
    const int width = text_width(stdout);

    for (size_t k = 0; k < characterization->count; k++) {
        const struct outcome *outcome = &characterization->outcomes[k];

        for (size_t w = 0; w < outcome->verdict_count; w++) {
            if (strcmp(outcome->verdicts[w].sentence, verdict->sentence) != 0)
                continue;
            if (k < i || (k == i && w < v))
                return;
            text_join(names, sizeof(names), ", ", "%s", outcome->experiment.path);
        }
    }
    if (verdict->level) /* the sentence names the level */
        print_line(width, 0, "%s", verdict->sentence);
    else
        print_line(width, 0, "%s: %s", names, verdict->sentence);
}

enum status characterization_print(const struct characterization *characterization)
{
    const struct device_info *device = &characterization->device;
    const int width = text_width(stdout);
    char skipped[TEXT_PARAGRAPH_BYTES] = "";
    enum status status;

    print_line(width, 0,
               "%s, compute capability %" PRIu32 ".%" PRIu32 ", driver %s: cycles of the SM clock",
               device->name, device->cc_major, device->cc_minor,
               device->driver[0] ? device->driver : "unknown");
    status = print_tables(characterization);
    if (status != STATUS_OK)
        return status;
    putchar('\n');
    for (size_t i = 0; i < characterization->count; i++) {
        const struct outcome *outcome = &characterization->outcomes[i];

        for (size_t v = 0; v < outcome->verdict_count; v++)
            print_verdict(characterization, i, v);
        print_streams(outcome);
        if (outcome->status == OUTCOME_SKIPPED)
            text_join(skipped, sizeof(skipped), ", ", "%s", outcome->experiment.name);
    }
    print_line(width, 0,
               "%s%s%sWith --all: intervals, every number, and why something was not found.",
               skipped[0] ? "Skipped: " : "", skipped, skipped[0] ? ". " : "");
    return STATUS_OK;
}

/* Prints a number, or for several with one name their range: the file has each of them. */
static void print_number(const struct outcome *outcome, const struct number *number)
{
    const struct range range = range_of(outcome, number->name);
    const int width = text_width(stdout);

    for (const struct number *before = outcome->numbers; before < number; before++)
        if (strcmp(before->name, number->name) == 0)
            return;
    if (range.count > 1)
        print_line(width, INDENT, "%s: %.4g to %.4g %s in %zu cases", number->name, range.low,
                   range.high, number->unit, range.count);
    else if (isnan(number->value))
        print_line(width, INDENT, "%s: none: %s", number->name, number->reason);
    else
        print_line(width, INDENT, "%s: %.4g [%.4g, %.4g] %s", number->name, number->value,
                   number->low, number->high, number->unit);
}

/* Prints what was found of a level on one line, and then why the rest was not. */
static void print_level(const struct geometry_level *level, size_t number)
{
    const int width = text_width(stdout);
    char found[TEXT_PARAGRAPH_BYTES / 2];
    const char *reason = "";

    snprintf(found, sizeof(found), "level %zu: ", number);
    if (isfinite(level->latency.value))
        text_join(found, sizeof(found), "", "%.4g, %.4g to %.4g cycles from %s",
                  level->latency.value, level->latency.ci_low, level->latency.ci_high,
                  level->every_sm ? "every SM" : "one SM");
    else
        text_join(found, sizeof(found), "", "latency not told here");
    for (size_t i = 0; i < GEOMETRY_FINDINGS; i++) {
        const struct geometry_number *finding = geometry_number(level, &geometry_findings[i]);

        if (finding->known && finding == &level->replacement)
            text_join(found, sizeof(found), ", ", "%s", level->replacement_name);
        else if (finding->known)
            text_join(found, sizeof(found), ", ", "%s %u", geometry_findings[i].key,
                      finding->value);
    }
    print_line(width, INDENT, "%s", found);
    for (size_t i = 0; i < GEOMETRY_FINDINGS; i++) {
        const struct geometry_number *finding = geometry_number(level, &geometry_findings[i]);

        if (finding->known || strcmp(finding->reason, reason) == 0)
            continue;
        reason = finding->reason;
        print_line(width, 2 * INDENT, "%s not found: %s", geometry_findings[i].key, reason);
    }
    if (level->contradiction[0])
        print_line(width, 2 * INDENT, "contradiction: %s", level->contradiction);
}

void characterization_print_all(const struct characterization *characterization)
{
    const int width = text_width(stdout);

    for (size_t i = 0; i < characterization->count; i++) {
        const struct outcome *outcome = &characterization->outcomes[i];

        print_line(width, 0, "%s: %s", outcome->experiment.name, outcome->experiment.what);
        if (outcome->status == OUTCOME_SKIPPED)
            print_line(width, INDENT, "skipped: %s", outcome->reason);
        for (size_t k = 0; k < outcome->verdict_count; k++) {
            print_line(width, INDENT, "%s", outcome->verdicts[k].sentence);
            if (isnan(outcome->verdicts[k].share))
                print_line(width, 2 * INDENT, "%s", outcome->verdicts[k].reason);
        }
        for (size_t k = 0; k < outcome->number_count; k++)
            print_number(outcome, &outcome->numbers[k]);
        for (size_t k = 0; outcome->geometry && k < outcome->geometry->level_count; k++)
            print_level(&outcome->geometry->level[k], k + 1);
    }
}

enum status characterization_show(const char *file, bool all)
{
    struct characterization made = {.replayed = file}, recorded = {.count = 0};
    struct probe_record record = {.count = 0};
    enum status status = characterization_read(file, &recorded);

    if (status != STATUS_OK)
        goto out;
    characterization_warn(file, &recorded);
    record.source = probe_replay_source(&recorded.replay);
    made.device = recorded.device;
    status = characterize(&record, &recorded, true, NULL, &made);
    if (status != STATUS_OK)
        goto out;
    if (all)
        characterization_print_all(&made);
    else
        status = characterization_print(&made);
out:
    characterization_close(&made);
    probe_record_close(&record);
    characterization_close(&recorded);
    return status;
}
