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
#include "commands.h"
#include "log.h"

enum { PATH_BYTES = 4096 };

/* Options of calibrate that run does not have; each takes a value. */
static const char *const own_options[] = {"--launches", "--keep", "--json"};

/* How many words of argv at i are an option of calibrate's own: 0, 1 ("--a=b") or 2 ("--a b"). */
static int own_words(char **argv, int i)
{
    for (size_t k = 0; k < sizeof(own_options) / sizeof(own_options[0]); k++) {
        const size_t bytes = strlen(own_options[k]);

        if (strcmp(argv[i], own_options[k]) == 0)
            return 2;
        if (strncmp(argv[i], own_options[k], bytes) == 0 && argv[i][bytes] == '=')
            return 1;
    }
    return 0;
}

/* Words of the child: this program, run, the user's options, and where its result goes. */
static void child_words(int argc, char **argv, char *path, char **words)
{
    static char run[] = "run", quiet[] = "--quiet", json[] = "--json";
    int count = 0;

    words[count++] = argv[0];
    words[count++] = run;
    words[count++] = quiet;
    words[count++] = json;
    words[count++] = path;
    for (int i = 2; i < argc;) {
        const int own = own_words(argv, i);

        if (own == 0)
            words[count++] = argv[i++];
        else
            i += own;
    }
    words[count] = NULL;
}

static enum status run_child(int argc, char **argv, char *path)
{
    char *words[argc + 6];
    int code = 0;
    pid_t child;

    child_words(argc, argv, path, words);
    child = fork();
    if (child == 0) {
        execv("/proc/self/exe", words);
        _exit(STATUS_ENVIRONMENT);
    }
    if (child < 0 || waitpid(child, &code, 0) < 0)
        return log_error(STATUS_ENVIRONMENT, "cannot start a launch: %s", strerror(errno));
    if (!WIFEXITED(code))
        return log_error(STATUS_ENVIRONMENT, "a launch was killed by signal %d", WTERMSIG(code));
    return (enum status)WEXITSTATUS(code);
}

/* Runs the launches into folder; each has said what went wrong. */
static enum status run_launches(const struct options *options, int argc, char **argv, const char *folder)
{
    enum status status = STATUS_OK;

    for (uint64_t i = 0; status == STATUS_OK && i < options->launches; i++) {
        char path[PATH_BYTES];

        snprintf(path, sizeof(path), "%s/launch-%03" PRIu64 ".json", folder, i + 1);
        if (isatty(STDERR_FILENO))
            fprintf(stderr, "launch %" PRIu64 " of %" PRIu64 "\n", i + 1, options->launches);
        status = run_child(argc, argv, path);
    }
    return status;
}

static void print_calibration(const struct calibration *calibration)
{
    printf("%s, driver %s, %zu launches: greatest difference between two launches\n", calibration->device,
           calibration->driver[0] ? calibration->driver : "-", calibration->launches);
    for (size_t i = 0; i < calibration->cell_count; i++) {
        char identity[CELL_IDENTITY_BYTES];

        const struct calibrated_cell *cell = &calibration->cells[i];

        cell_identity(&cell->cell, identity);
        if (isnan(cell->noise))
            printf("  %-60s not timed by two launches\n", identity);
        else
            printf("  %-60s %6.2f%% of %.4g us\n", identity, 100 * cell->noise, cell->median_ns / 1000);
    }
}

static void remove_launches(const char *folder, uint64_t launches)
{
    for (uint64_t i = 0; i < launches; i++) {
        char path[PATH_BYTES];

        snprintf(path, sizeof(path), "%s/launch-%03" PRIu64 ".json", folder, i + 1);
        unlink(path);
    }
    rmdir(folder);
}

enum status command_calibrate(const struct options *options, int argc, char **argv)
{
    char temporary[] = "/tmp/cbank-calibrate-XXXXXX";
    const char *folder = options->keep_path ? options->keep_path : mkdtemp(temporary);
    struct side side = {0};
    struct calibration calibration = {0};
    enum status status;

    if (!folder || (options->keep_path && mkdir(folder, 0777) != 0 && errno != EEXIST))
        return log_error(STATUS_USAGE, "cannot make a folder for the launches: %s; choose one with --keep",
                         strerror(errno));
    status = run_launches(options, argc, argv, folder);
    if (status == STATUS_OK)
        status = side_read(folder, &side);
    if (status == STATUS_OK)
        status = calibration_of(&side, &calibration);
    if (status == STATUS_OK)
        status = calibration_write(&calibration, options->json_path);
    if (status == STATUS_OK && strcmp(options->json_path, "-") != 0) {
        print_calibration(&calibration);
        printf("calibration: %s\n", options->json_path);
    }
    calibration_close(&calibration);
    side_close(&side);
    if (!options->keep_path)
        remove_launches(folder, options->launches);
    return status;
}
