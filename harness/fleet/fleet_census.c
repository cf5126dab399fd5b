/* SPDX-License-Identifier: MIT
 * Who answered in the last night, and who should have. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "fleet_verdict.h"
#include "log.h"
#include "text.h"

enum { INVENTORY_BYTES_MAX = 1 << 24, HOST_BYTES = 256 };

/* -- against the night before -------------------------------------------------------------------------- */

/* The GPU's last run before the last night; NULL: it had none. */
static const struct fleet_run *run_before(const struct fleet *fleet, size_t gpu)
{
    for (size_t i = fleet->run_count; i-- > 0;)
        if (fleet->runs[i].gpu == gpu && fleet->runs[i].night + 1 < fleet->night_count)
            return &fleet->runs[i];
    return NULL;
}

static bool same_place(const struct fleet_run *a, const struct fleet_run *b)
{
    return *a->host && *a->slot && a->host == b->host && a->slot == b->slot;
}

/* The board that answered where another was before; SIZE_MAX: none did. */
static size_t find_successor(const struct fleet *fleet, const struct fleet_run *before)
{
    for (size_t i = 0; i < fleet->gpu_count; i++)
        if (i != before->gpu && fleet->gpus[i].answered && same_place(&fleet->runs[fleet->gpus[i].last], before))
            return i;
    return SIZE_MAX;
}

/* Of the boards that were where the GPU is now, the last; NULL: none was. */
static const struct fleet_run *predecessor(const struct fleet *fleet, size_t gpu)
{
    const struct fleet_run *now = &fleet->runs[fleet->gpus[gpu].last];

    for (size_t i = fleet->run_count; i-- > 0;)
        if (fleet->runs[i].night + 1 < fleet->night_count && same_place(&fleet->runs[i], now))
            return fleet->runs[i].gpu == gpu ? NULL : &fleet->runs[i];
    return NULL;
}

/* Adds a GPU to the row of those that are missing in its host. */
static enum status add_missing(struct fleet_verdict *verdict, size_t gpu)
{
    const struct fleet *fleet = verdict->fleet;
    const char *host = fleet->runs[fleet->gpus[gpu].last].host;
    struct fleet_row *row = verdict->rows, *end = row + verdict->row_count;

    while (row < end &&
           (row->kind != FLEET_MISSING || !*host || fleet->runs[fleet->gpus[row->gpus[0]].last].host != host))
        row++;
    if (row == end) {
        row = fleet_add_row(verdict, FLEET_MISSING);
        if (!row)
            return STATUS_ENVIRONMENT;
        snprintf(row->what, sizeof(row->what), "did not answer");
        row->since_utc = fleet->nights[fleet->night_count - 1].first_utc;
    }
    return fleet_row_gpu(row, gpu);
}

/* "all 8 GPUs of n17" where none of them answered. */
static void name_missing(const struct fleet_verdict *verdict, struct fleet_row *row)
{
    const struct fleet *fleet = verdict->fleet;
    const char *host = fleet->runs[fleet->gpus[row->gpus[0]].last].host;
    bool answered = false;

    for (size_t i = 0; !answered && i < fleet->gpu_count; i++)
        answered = fleet->gpus[i].answered && fleet->runs[fleet->gpus[i].last].host == host;
    if (!answered && row->gpu_count > 1 && *host)
        snprintf(row->who, sizeof(row->who), "all %zu GPUs of %.200s", row->gpu_count, host);
}

/* What is the matter with a GPU that answered: it is where another was, elsewhere than before, or new. */
static enum status look_at(struct fleet_verdict *verdict, size_t gpu, const struct fleet_run *before)
{
    const struct fleet *fleet = verdict->fleet;
    const struct fleet_run *now = &fleet->runs[fleet->gpus[gpu].last], *other = predecessor(fleet, gpu);
    char what[FLEET_TEXT_BYTES], name[FLEET_TEXT_BYTES];

    if (other && *fleet->gpus[gpu].uuid) {
        snprintf(what, sizeof(what), "in place of %s", fleet->gpus[other->gpu].uuid);
        return fleet_add_gpu(verdict, FLEET_REPLACED, gpu, what);
    }
    if (before && (before->host != now->host || before->slot != now->slot)) {
        fleet_place(before, name);
        snprintf(what, sizeof(what), "was at %.400s", *name ? name : "a place that is not known");
        return fleet_add_gpu(verdict, FLEET_MOVED, gpu, what);
    }
    return before || fleet->night_count < 2 ? STATUS_OK
                                            : fleet_add_gpu(verdict, FLEET_ADDED, gpu, "never answered before");
}

static enum status by_night(struct fleet_verdict *verdict)
{
    const struct fleet *fleet = verdict->fleet;
    enum status status = STATUS_OK;

    for (size_t i = 0; status == STATUS_OK && i < fleet->gpu_count; i++) {
        const struct fleet_run *before = run_before(fleet, i);

        if (fleet->gpus[i].answered) {
            verdict->expected += before != NULL;
            status = look_at(verdict, i, before);
        } else if (before && before->night + 2 == fleet->night_count) {
            verdict->expected++;
            /* The board that is there now is what is said. */
            if (find_successor(fleet, before) == SIZE_MAX && !verdict->from_inventory)
                status = add_missing(verdict, i);
        }
    }
    for (size_t i = 0; i < verdict->row_count; i++)
        if (verdict->rows[i].kind == FLEET_MISSING)
            name_missing(verdict, &verdict->rows[i]);
    return status;
}

/* -- against an inventory ------------------------------------------------------------------------------ */

/* A line: a host, and how many GPUs it has or the UUID of one. */
struct line {
    const char *path;
    size_t number;
    char host[HOST_BYTES], what[HOST_BYTES];
    size_t count; /* 0: it is a UUID */
};

static enum status read_line(const char *text, struct line *line)
{
    char *end = NULL;
    int read = 0;

    line->count = 0;
    if (sscanf(text, "%255s %255s %n", line->host, line->what, &read) != 2 || text[read])
        return log_error(STATUS_USAGE, "%s:%zu: a line is a host and how many GPUs it has, or the UUID of one of them",
                         line->path, line->number);
    if (strncmp(line->what, "GPU-", 4) == 0)
        return STATUS_OK;
    line->count = strtoul(line->what, &end, 10);
    if (*end || line->count == 0 || line->count > 1024 || *line->what == '-')
        return log_error(STATUS_USAGE, "%s:%zu: %s is no UUID and no number of GPUs from 1 to 1024", line->path,
                         line->number, text_shown(line->what, (char[TEXT_SHOWN_BYTES]){0}));
    return STATUS_OK;
}

static bool matches(const struct fleet *fleet, size_t gpu, const struct line *line)
{
    return line->count ? strcmp(fleet->runs[fleet->gpus[gpu].last].host, line->host) == 0
                       : strcmp(fleet->gpus[gpu].uuid, line->what) == 0;
}

/* Holds a line against who answered. GPUs that were seen there, and did not answer, are named as far as so many lack. */
static enum status take_line(struct fleet_verdict *verdict, const struct line *line)
{
    const struct fleet *fleet = verdict->fleet;
    const size_t expected = line->count ? line->count : 1;
    size_t answered = 0, known = 0, named = 0;
    enum status status = STATUS_OK;
    struct fleet_row *row;

    for (size_t i = 0; i < fleet->gpu_count; i++) {
        known += matches(fleet, i, line);
        answered += matches(fleet, i, line) && fleet->gpus[i].answered;
    }
    verdict->expected += expected;
    if (known == 0)
        log_warning("%s:%zu: %s never answered in %s; is that its name?", line->path, line->number,
                    line->count ? line->host : line->what, fleet->path);
    if (answered > expected)
        log_warning("%s:%zu: %zu GPUs of %s answered", line->path, line->number, answered, line->host);
    if (answered >= expected)
        return STATUS_OK;
    row = fleet_add_row(verdict, FLEET_MISSING);
    if (!row)
        return STATUS_ENVIRONMENT;
    for (size_t i = 0; status == STATUS_OK && i < fleet->gpu_count && answered + named < expected; i++)
        if (matches(fleet, i, line) && !fleet->gpus[i].answered) {
            named++;
            status = fleet_row_gpu(row, i);
        }
    if (line->count)
        snprintf(row->what, sizeof(row->what), "%zu of %zu GPUs of %.200s answered", answered, expected, line->host);
    else
        snprintf(row->what, sizeof(row->what), "%.200s of %.200s did not answer", line->what, line->host);
    if (named == 0)
        snprintf(row->who, sizeof(row->who), "%s", line->host);
    return status;
}

/* Hosts that answered and that no line has. */
static void warn_of_others(const struct fleet *fleet, const char *path, const char *text)
{
    for (size_t i = 0; i < fleet->gpu_count; i++) {
        const char *host = fleet->runs[fleet->gpus[i].last].host, *at = text;
        const size_t length = strlen(host);
        bool first = fleet->gpus[i].answered && length > 0;

        for (size_t j = 0; first && j < i; j++)
            first = !fleet->gpus[j].answered || fleet->runs[fleet->gpus[j].last].host != host;
        while (first && (at = strstr(at, host)) != NULL) {
            if ((at == text || at[-1] == '\n' || at[-1] == ' ' || at[-1] == '\t') && strchr(" \t", at[length]))
                first = false;
            at += length;
        }
        if (first)
            log_warning("%s: has no line for %s, which answered", path, host);
    }
}

static enum status by_inventory(struct fleet_verdict *verdict, const char *path)
{
    struct line line = {.path = path};
    char *text = NULL, *rest;
    size_t bytes;
    enum status status = file_read(path, INVENTORY_BYTES_MAX, &text, &bytes);

    verdict->expected = 0;
    if (status == STATUS_OK && strlen(text) != bytes)
        status = log_error(STATUS_USAGE, "%s: is no text", path);
    if (status == STATUS_OK)
        warn_of_others(verdict->fleet, path, text);
    rest = text;
    for (char *next; status == STATUS_OK && (next = strsep(&rest, "\n"));) {
        line.number++;
        next[strcspn(next, "#\r")] = '\0';
        if (next[strspn(next, " \t")] == '\0')
            continue;
        status = read_line(next, &line);
        if (status == STATUS_OK)
            status = take_line(verdict, &line);
    }
    free(text);
    if (status == STATUS_OK && verdict->expected == 0)
        status = log_error(STATUS_USAGE, "%s: has no host; a line is a host and how many GPUs it has", path);
    return status;
}

enum status fleet_census(const char *inventory, struct fleet_verdict *verdict)
{
    enum status status;

    verdict->from_inventory = inventory != NULL;
    status = by_night(verdict);
    return status == STATUS_OK && inventory ? by_inventory(verdict, inventory) : status;
}
