/* SPDX-License-Identifier: MIT
 * Runs `cbank run` with the same plan in several processes, one after the other, and takes the noise of each
 * cell from what differs between them. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calibration.h"
#include "cell_json.h"
#include "command.h"
#include "grid.h"
#include "log.h"
#include "plan_options.h"
#include "text.h"

enum { PATH_BYTES = 4096 };

struct calibrate_options {
    struct plan_options plan;
    struct measure_options measure;
    struct look_options look;
    uint64_t processes;
    const char *keep_path; /* folder that the results are kept in; NULL: nowhere */
    const char *json_path;
};

#define MEMBER(name) .offset = offsetof(struct calibrate_options, name)

/* clang-format off */
static const struct option_row rows[] = {
    {.name = "processes", .argument = "N", .help = "processes that run the plan (default 5)",
     .kind = &option_integer, MEMBER(processes), .low = 2, .high = 1000, .unit = "processes", .fallback = "5"},
    {.name = "keep", .argument = "FOLDER", .help = "keep the results of the processes there",
     .kind = &option_text, MEMBER(keep_path)},
    {.name = "json", .argument = "FILE", .help = "where the calibration goes (default calibration.json)",
     .kind = &option_text, MEMBER(json_path), .fallback = "calibration.json"},
};
/* clang-format on */

static const struct option_group groups[] = {
    OPTION_GROUP(plan_option_rows, offsetof(struct calibrate_options, plan)),
    OPTION_GROUP(measure_option_rows, offsetof(struct calibrate_options, measure)),
    OPTION_GROUP(rows, 0),
    OPTION_GROUP(look_option_rows, offsetof(struct calibrate_options, look)),
};

/* Words of a child: this program, run, what the user gave of its options, and where its result goes. The caller's, to
 * free, and so is *text, which they lie in. NULL when out of memory. */
static char **child_words(const struct invocation *invocation, const char *path, char **text)
{
    static char run[] = "run", quiet[] = "--quiet";
    char **words = calloc(invocation->given_count + 6, sizeof(*words));
    size_t bytes = 0, count = 0;
    FILE *stream = open_memstream(text, &bytes);

    if (!words || !stream)
        goto out;
    fprintf(stream, "--json=%s%c", path, '\0');
    for (size_t i = 0; i < invocation->given_count; i++) {
        const struct given_option *given = &invocation->given[i];

        if (given->group->rows == plan_option_rows || given->group->rows == measure_option_rows)
            fprintf(stream, "--%s=%s%c", given->option->name, given->value, '\0');
    }
    fflush(stream);
    words[count++] = invocation->argv[0];
    words[count++] = run;
    words[count++] = quiet;
    for (char *word = *text; word < *text + bytes; word += strlen(word) + 1)
        words[count++] = word;
out:
    if (stream)
        fclose(stream);
    return words;
}

static enum status run_child(const struct invocation *invocation, const char *path)
{
    char *text = NULL, **words = child_words(invocation, path, &text);
    const pid_t child = words && text ? fork() : -1;
    int code = 0;

    if (child == 0) {
        execv("/proc/self/exe", words);
        _exit(STATUS_ENVIRONMENT);
    }
    free(words);
    free(text);
    if (child < 0 || waitpid(child, &code, 0) < 0)
        return log_error(STATUS_ENVIRONMENT, "cannot start a process: %s", strerror(errno));
    if (!WIFEXITED(code))
        return log_error(STATUS_ENVIRONMENT, "a process was killed by signal %d", WTERMSIG(code));
    return (enum status)WEXITSTATUS(code);
}

/* Runs the processes into folder; each has said what went wrong. */
static enum status run_processes(const struct calibrate_options *options, const struct invocation *invocation,
                                 const char *folder)
{
    enum status status = STATUS_OK;

    for (uint64_t i = 0; status == STATUS_OK && i < options->processes; i++) {
        char path[PATH_BYTES];

        snprintf(path, sizeof(path), "%s/process-%03" PRIu64 ".json", folder, i + 1);
        if (isatty(STDERR_FILENO))
            fprintf(stderr, "process %" PRIu64 " of %" PRIu64 "\n", i + 1, options->processes);
        status = run_child(invocation, path);
    }
    return status;
}

static bool note(const void *row, size_t index, char *out, size_t bytes)
{
    if (index > 0 || !isnan(((const struct calibrated_cell *)row)->noise))
        return false;
    snprintf(out, bytes, "not timed by two processes");
    return true;
}

#define OF(member) GRID_MEMBER(struct calibrated_cell, member)

static const struct grid_column columns[] = {
    {.heading = "cell", .value = cell_value_identity, .head = true},
    {.heading = "differs by", .format = text_change, .value = grid_number, .of = OF(noise)},
    {.heading = "median", .format = text_time, .value = grid_number, .of = OF(median_ns)},
};

static enum status print_calibration(const struct calibration *calibration)
{
    const struct device_info *device = &calibration->device;
    const struct grid grid = {
        .columns = columns,
        .column_count = sizeof(columns) / sizeof(columns[0]),
        .rows = calibration->cells,
        .row_count = calibration->cell_count,
        .row_bytes = sizeof(*calibration->cells),
        .note = note,
    };

    printf("%s, driver %s, %u %sprocesses: greatest difference between two\n", device->name,
           device->driver[0] ? device->driver : "-", calibration->processes, calibration->modelled ? "modelled " : "");
    return grid_print(stdout, &grid, &(struct grid_look){.width = text_width(stdout), .indent = 2});
}

static void remove_processes(const char *folder, uint64_t processes)
{
    for (uint64_t i = 0; i < processes; i++) {
        char path[PATH_BYTES];

        snprintf(path, sizeof(path), "%s/process-%03" PRIu64 ".json", folder, i + 1);
        unlink(path);
    }
    rmdir(folder);
}

static enum status calibrate(const void *parsed, const struct invocation *invocation)
{
    const struct calibrate_options *options = parsed;
    char temporary[] = "/tmp/cbank-calibrate-XXXXXX";
    const char *folder = options->keep_path ? options->keep_path : mkdtemp(temporary);
    struct side side = {0};
    struct calibration calibration = {0};
    enum status status;

    if (!folder || (options->keep_path && mkdir(folder, 0777) != 0 && errno != EEXIST))
        return log_error(STATUS_USAGE, "cannot make a folder for the processes: %s; choose one with --keep",
                         strerror(errno));
    status = run_processes(options, invocation, folder);
    if (status == STATUS_OK)
        status = side_read(folder, &side);
    if (status == STATUS_OK)
        status = calibration_of(&side, &calibration);
    if (status == STATUS_OK)
        status = calibration_write(&calibration, options->json_path);
    if (status == STATUS_OK && strcmp(options->json_path, "-") != 0) {
        status = print_calibration(&calibration);
        printf("calibration: %s\n", options->json_path);
    }
    calibration_close(&calibration);
    side_close(&side);
    if (!options->keep_path)
        remove_processes(folder, options->processes);
    return status;
}

const struct command calibrate_command = {
    .name = "calibrate",
    .summary = "Measure how much each cell differs between processes, for compare",
    .groups = groups,
    .group_count = sizeof(groups) / sizeof(groups[0]),
    .options_bytes = sizeof(struct calibrate_options),
    .details = "It runs the plan in several processes, one after the other.",
    .run = calibrate,
};
