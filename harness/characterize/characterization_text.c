/* SPDX-License-Identifier: MIT
 * The findings as text: a screen, or everything. */
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
    .heading = heading_, .value = grid_array, .of = GRID_MEMBER(struct path_line, values[index])

static const struct grid_column path_columns[] = {
    {.heading = "path",
     .value = grid_text,
     .of = GRID_MEMBER(struct path_line, path),
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

#define OF_LEVEL(member)                         \
    .value = grid_integer, .format = text_count, \
    .of = GRID_BEHIND(struct level_line, level, struct geometry_level, member.value)

static const struct grid_column level_columns[] = {
    {.heading = "caches",
     .value = grid_text,
     .of = GRID_MEMBER(struct level_line, experiment),
     .head = true},
    {.heading = "level",
     .value = grid_integer,
     .format = text_count,
     .of = GRID_MEMBER(struct level_line, number),
     .head = true},
    {.heading = "cycles", .value = grid_array, .of = GRID_MEMBER(struct level_line, cycles)},
    {.heading = "bytes", OF_LEVEL(capacity_bytes)},
    {.heading = "line", OF_LEVEL(line_bytes)},
    {.heading = "fetched", OF_LEVEL(fetch_bytes)},
    {.heading = "ways", OF_LEVEL(ways)},
    {.heading = "sets", OF_LEVEL(sets)},
    {.heading = "replacement",
     .value = grid_array,
     .of = GRID_BEHIND(struct level_line, level, struct geometry_level, replacement_name),
     .below = true},
};

enum status characterization_print(const struct characterization *characterization)
{
    const struct device_info *device = &characterization->device;
    const struct outcome *const outcomes = characterization->outcomes;
    const size_t count = characterization->count;
    const int width = text_width(stdout);
    const struct print_style look = {.width = width};
    struct path_line *paths = calloc(count + 1, sizeof(*paths));
    struct level_line *levels = calloc(count * GEOMETRY_LEVELS_MAX + 1, sizeof(*levels));
    struct grid path_grid = {GRID_COLUMNS(path_columns), GRID_ROWS(paths, 0)};
    struct grid level_grid = {GRID_COLUMNS(level_columns), GRID_ROWS(levels, 0)};
    char skipped[TEXT_PARAGRAPH_BYTES] = "";
    enum status status = paths && levels ? STATUS_OK : log_memory("the findings of experiments");

    for (size_t i = 0; status == STATUS_OK && i < count; i++) {
        const struct geometry *geometry = outcomes[i].geometry;
        struct path_line *line = paths;

        while (line->path && strcmp(line->path, outcomes[i].experiment.path) != 0)
            line++;
        path_grid.row_count += !line->path;
        line->path = outcomes[i].experiment.path;
        if (outcomes[i].status == OUTCOME_SKIPPED)
            text_join(skipped, sizeof(skipped), ", ", "%s", outcomes[i].experiment.name);
        for (size_t q = 0; q < QUANTITIES; q++) {
            double low = INFINITY, high = -INFINITY;

            for (size_t k = 0; k < outcomes[i].number_count; k++)
                if (strcmp(outcomes[i].numbers[k].name, quantities[q]) == 0) {
                    low = fmin(low, outcomes[i].numbers[k].value);
                    high = fmax(high, outcomes[i].numbers[k].value);
                }
            if (line->values[q][0] || low > high)
                continue;
            snprintf(line->values[q], sizeof(line->values[q]),
                     high - low < 0.005 ? "%.4g" : "%.4g to %.4g", fabs(low) < 0.0005 ? 0 : low,
                     high);
        }
        for (size_t k = 0; geometry && k < geometry->level_count; k++) {
            struct level_line *of = &levels[level_grid.row_count++];
            const struct summary *latency = &geometry->level[k].latency;

            *of = (struct level_line){strchr(outcomes[i].experiment.name, '_') + 1, k + 1, "",
                                      &geometry->level[k]};
            if (isfinite(latency->value))
                snprintf(of->cycles, sizeof(of->cycles),
                         latency->ci_high > latency->ci_low ? "%.4g [%.3g, %.3g]" : "%.4g",
                         latency->value, latency->ci_low, latency->ci_high);
        }
    }
    if (status == STATUS_OK) {
        print_line(width, 0,
                   "%s, compute capability %" PRIu32 ".%" PRIu32
                   ", driver %s: cycles of the SM clock",
                   device->name, device->cc_major, device->cc_minor,
                   device->driver[0] ? device->driver : "unknown");
        status = grid_print(stdout, &path_grid, &look);
    }
    if (status == STATUS_OK && level_grid.row_count) {
        putchar('\n');
        status = grid_print(stdout, &level_grid, &look);
    }
    if (status == STATUS_OK)
        putchar('\n');
    for (size_t i = 0; status == STATUS_OK && i < count; i++)
        for (size_t v = 0; v < outcomes[i].verdict_count; v++) {
            const char *sentence = outcomes[i].verdicts[v].sentence;
            char names[TEXT_PARAGRAPH_BYTES] = "";
            bool before = false;

            for (size_t k = 0; k < count; k++)
                for (size_t w = 0; w < outcomes[k].verdict_count; w++)
                    if (strcmp(outcomes[k].verdicts[w].sentence, sentence) == 0) {
                        before = before || k < i || (k == i && w < v);
                        text_join(names, sizeof(names), ", ", "%s", outcomes[k].experiment.path);
                    }
            if (!before && outcomes[i].verdicts[v].level) /* the sentence names the level */
                print_line(width, 0, "%s", sentence);
            else if (!before)
                print_line(width, 0, "%s: %s", names, sentence);
        }
    if (status == STATUS_OK)
        print_line(width, 0,
                   "%s%s%sWith --all: intervals, every number, and why something was not found.",
                   skipped[0] ? "Skipped: " : "", skipped, skipped[0] ? ". " : "");
    free(levels);
    free(paths);
    return status;
}

void characterization_print_all(const struct characterization *characterization)
{
    const int width = text_width(stdout);

    for (size_t i = 0; i < characterization->count; i++) {
        const struct outcome *outcome = &characterization->outcomes[i];

        print_line(width, 0, "%s: %s", outcome->experiment.name, outcome->experiment.what);
        if (outcome->status == OUTCOME_SKIPPED)
            print_line(width, INDENT, "skipped: %s", outcome->reason);
        for (const struct verdict *one = outcome->verdicts;
             one < outcome->verdicts + outcome->verdict_count; one++) {
            print_line(width, INDENT, "%s", one->sentence);
            if (isnan(one->share))
                print_line(width, 2 * INDENT, "%s", one->reason);
        }
        /* A number, or for several with one name their range: the file has each of them. */
        for (size_t j = 0; j < outcome->number_count; j++) {
            const struct number *one = &outcome->numbers[j], *first = NULL;
            double low = one->value, high = one->value;
            size_t count = 0;

            for (size_t k = 0; k < outcome->number_count; k++)
                if (strcmp(outcome->numbers[k].name, one->name) == 0) {
                    first = first ? first : &outcome->numbers[k];
                    low = fmin(low, outcome->numbers[k].value);
                    high = fmax(high, outcome->numbers[k].value);
                    count++;
                }
            if (first == one && count > 1)
                print_line(width, INDENT, "%s: %.4g to %.4g %s in %zu cases", one->name, low, high,
                           one->unit, count);
            else if (first == one && isnan(one->value))
                print_line(width, INDENT, "%s: none: %s", one->name, one->reason);
            else if (first == one)
                print_line(width, INDENT, "%s: %.4g [%.4g, %.4g] %s", one->name, one->value,
                           one->low, one->high, one->unit);
        }
        for (size_t k = 0; outcome->geometry && k < outcome->geometry->level_count; k++) {
            const struct geometry_level *level = &outcome->geometry->level[k];
            const char *reason = "";
            char found[TEXT_PARAGRAPH_BYTES / 2];

            snprintf(found, sizeof(found), "level %zu: ", k + 1);
            if (isfinite(level->latency.value))
                text_join(found, sizeof(found), "", "%.4g [%.4g, %.4g] cycles from %s",
                          level->latency.value, level->latency.ci_low, level->latency.ci_high,
                          level->every_sm ? "every SM" : "one SM");
            else
                text_join(found, sizeof(found), "", "latency not told here");
            for (size_t i = 0; i < GEOMETRY_FINDINGS; i++) {
                const struct geometry_number *number =
                    geometry_number(level, &geometry_findings[i]);

                if (number->known && number == &level->replacement)
                    text_join(found, sizeof(found), ", ", "%s", level->replacement_name);
                else if (number->known)
                    text_join(found, sizeof(found), ", ", "%s %u", geometry_findings[i].key,
                              number->value);
            }
            print_line(width, INDENT, "%s", found);
            for (size_t i = 0; i < GEOMETRY_FINDINGS; i++) {
                const struct geometry_number *number =
                    geometry_number(level, &geometry_findings[i]);

                if (!number->known && strcmp(number->reason, reason) != 0) {
                    reason = number->reason;
                    print_line(width, 2 * INDENT, "%s not found: %s", geometry_findings[i].key,
                               reason);
                }
            }
            if (level->contradiction[0])
                print_line(width, 2 * INDENT, "contradiction: %s", level->contradiction);
        }
    }
}

enum status characterization_show(const char *file, bool all)
{
    struct characterization made = {.replayed = file}, recorded = {.count = 0};
    struct probe_record record = {.count = 0};
    enum status status = characterization_read(file, &recorded);

    record.source = probe_replay_source(&recorded.replay);
    made.device = recorded.device;
    if (status == STATUS_OK)
        status = characterize(&record, &recorded, true, &made);
    if (status == STATUS_OK && all)
        characterization_print_all(&made);
    else if (status == STATUS_OK)
        status = characterization_print(&made);
    characterization_close(&made);
    probe_record_close(&record);
    characterization_close(&recorded);
    return status;
}
