/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "command.h"
#include "grid.h"
#include "log.h"
#include "text.h"

struct check_options {
    bool json, brief;
    struct look_options look;
};

#define MEMBER(name) .offset = offsetof(struct check_options, name)

/* clang-format off */
static const struct option_row rows[] = {
    {.name = "json", .help = "print JSON", .kind = &option_flag, MEMBER(json)},
    {.name = "brief", .help = "of a folder that contribute --brief made", .kind = &option_flag, MEMBER(brief), .hidden = true},
};
/* clang-format on */

static const struct option_group groups[] = {
    OPTION_GROUP(rows, 0),
    OPTION_GROUP(look_option_rows, offsetof(struct check_options, look)),
};

/* -- what is printed ----------------------------------------------------------------------------------- */

/* clang-format off */
#define TEXT(member) .key = #member, .heading = #member, .value = grid_array, .of = GRID_MEMBER(struct chip_finding, member)

static const struct grid_column columns[] = {
    {TEXT(file), .head = true}, {TEXT(what), .below = true}, {TEXT(remedy), .below = true},
};
/* clang-format on */

static struct grid findings_grid(const struct chip_check *check)
{
    return (struct grid){.columns = columns,
                         .column_count = sizeof(columns) / sizeof(columns[0]),
                         .rows = check->findings,
                         .row_count = check->count,
                         .row_bytes = sizeof(*check->findings)};
}

enum status check_print(const struct chip_check *checks, size_t count, bool color)
{
    const struct grid_look look = {.width = text_width(stdout), .indent = 2, .color = color};
    enum status status = STATUS_OK;

    for (size_t i = 0; status == STATUS_OK && i < count; i++) {
        const struct chip_check *check = &checks[i];
        const struct grid grid = findings_grid(check);

        char found[64] = "nothing is missing, nothing contradicts";

        if (check->count)
            snprintf(found, sizeof(found), "%zu finding%s", (size_t)check->count, check->count == 1 ? "" : "s");
        text_paragraph((struct text_wrap){.stream = stdout, .width = look.width, .indent = 2},
                       "%s: %s, driver %s, %zu files, %.1f MiB, measured by %s: %s", check->folder,
                       check->name[0] ? check->name : "no GPU", check->driver[0] ? check->driver : "not known",
                       (size_t)check->files, (double)check->bytes / MIB, check->credit[0] ? check->credit : "nobody",
                       found);
        status = grid_print(stdout, &grid, &look);
    }
    return status;
}

/* See results/check.schema.json. */
static enum status print_json(const struct chip_check *checks, size_t count)
{
    cJSON *root = cJSON_CreateObject(), *schema = json_add(root, "schema", cJSON_CreateObject());
    cJSON *folders = json_add(root, "folders", cJSON_CreateArray());

    json_add_text(schema, "name", "cbank-check");
    json_add_text(schema, "version", "1.0");
    for (size_t i = 0; i < count; i++) {
        const struct grid grid = findings_grid(&checks[i]);
        cJSON *folder = json_append(folders, cJSON_CreateObject());

        json_add_text(folder, "folder", checks[i].folder);
        json_add_text(folder, "gpu", checks[i].name[0] ? checks[i].name : NULL);
        json_add_text(folder, "driver", checks[i].driver[0] ? checks[i].driver : NULL);
        json_add_text(folder, "credit", checks[i].credit[0] ? checks[i].credit : NULL);
        json_add_integer(folder, "files", checks[i].files);
        json_add_integer(folder, "bytes", checks[i].bytes);
        json_add(folder, "findings", grid_to_json(&grid));
    }
    return json_put_owned(stdout, root);
}

/* -- several folders ----------------------------------------------------------------------------------- */

/* Two folders of one chip: which of them counts nobody could say. */
static enum status check_each_other(struct chip_check *checks, size_t count)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; status == STATUS_OK && j < i; j++)
            if (checks[i].name[0] && strcmp(checks[i].name, checks[j].name) == 0)
                status = check_add(&checks[i], CHIP_MANIFEST, "keep one of the two folders",
                                   "is of the same chip as %.200s, %s", checks[j].folder, checks[j].name);
    return status;
}

static enum status check(const void *parsed, const struct invocation *invocation)
{
    const struct check_options *options = parsed;
    const size_t count = invocation->argument_count;
    struct chip_check *checks = calloc(count, sizeof(*checks));
    enum status status = checks ? STATUS_OK : log_memory("%zu folders", count);

    for (size_t i = 0; i < count && status != STATUS_ENVIRONMENT; i++) {
        char *folder = invocation->arguments[i];

        for (size_t length = strlen(folder); length > 1 && folder[length - 1] == '/'; length--)
            folder[length - 1] = '\0';
        status = status_worse(status, chip_check(folder, options->brief, &checks[i]));
    }
    if (status == STATUS_OK)
        status = check_each_other(checks, count);
    if (status == STATUS_OK)
        status = options->json ? print_json(checks, count)
                               : check_print(checks, count, look_color(&options->look, STDOUT_FILENO));
    if (status == STATUS_OK)
        status = check_verdict(checks, count);
    for (size_t i = 0; checks && i < count; i++)
        check_close(&checks[i]);
    free(checks);
    return status;
}

const struct command check_command = {
    .name = "check",
    .summary = "Say what is missing in the folder of a chip, or contradicts itself",
    .arguments = "DIR...",
    .arguments_min = 1,
    .arguments_max = 1000,
    .groups = groups,
    .group_count = sizeof(groups) / sizeof(groups[0]),
    .options_bytes = sizeof(struct check_options),
    .details =
        "DIRs are folders as cbank contribute makes them. Each file is looked at beside the manifest: whether it is there,\n"
        "whole and the one that was named, of the same GPU, driver and program as the others, and of the command that it\n"
        "should be of. Then whether exact counters are as expected, the two processes of the default plan say the same, and\n"
        "the card rests on these files and this device. Several folders are looked at beside each other.\n"
        "\n"
        "Exit code 1: something is missing, malformed or contradicts itself; each with the file and what to do. 2: no such\n"
        "folder.",
    .run = check,
};
