/* SPDX-License-Identifier: MIT */
#include "result_file.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"

/* "cbank-ENGINE-NAME-DEVICE-TIME.json", with nothing in it that a shell or a file system minds. */
static void made_up_name(const struct result *result, uint32_t device, char *name, size_t bytes)
{
    char when[CLOCK_UTC_BYTES], *end = when;

    clock_utc(when);
    /* Without what divides its parts: "20260131T120000Z". */
    for (const char *c = when; *c; c++)
        if (*c != '-' && *c != ':')
            *end++ = *c;
    *end = '\0';
    snprintf(name, bytes, "cbank-%s-%s-%u-%s.json", result->engine, result->device.name, (unsigned)device, when);
    for (char *c = name; *c; c++)
        if (*c == ' ' || *c == '/')
            *c = '_';
}

static bool is_folder(const char *path)
{
    struct stat info;

    return path[0] && (path[strlen(path) - 1] == '/' || (stat(path, &info) == 0 && S_ISDIR(info.st_mode)));
}

/* Makes a folder and those above it; what exists already is fine. */
static void make_folders(const char *path)
{
    char part[RESULT_PATH_BYTES];

    snprintf(part, sizeof(part), "%s", path);
    for (char *c = part + 1; *c; c++) {
        if (*c != '/')
            continue;
        *c = '\0';
        mkdir(part, 0777);
        *c = '/';
    }
    mkdir(part, 0777);
}

/* Puts a number before ".json" while there is a file of that name: nothing made up overwrites a result. */
static void make_new(char path[RESULT_PATH_BYTES])
{
    const size_t stem = strlen(path) - strlen(".json");

    for (unsigned i = 2; access(path, F_OK) == 0 && i < 1000; i++)
        snprintf(path + stem, RESULT_PATH_BYTES - stem, "-%u.json", i);
}

void result_file_path(const char *given, const struct result *result, uint32_t device, bool several,
                      char path[RESULT_PATH_BYTES])
{
    const char *dot = given ? strrchr(given, '.') : NULL;
    char name[256];

    made_up_name(result, device, name, sizeof(name));
    if (!given || is_folder(given)) {
        snprintf(path, RESULT_PATH_BYTES, "%s%s%s", given ? given : "",
                 given && given[strlen(given) - 1] != '/' ? "/" : "", name);
        make_new(path);
    } else if (several && strcmp(given, "-") != 0) {
        snprintf(path, RESULT_PATH_BYTES, "%.*s-device%u%s", (int)(dot ? (size_t)(dot - given) : strlen(given)), given,
                 (unsigned)device, dot ? dot : "");
    } else {
        snprintf(path, RESULT_PATH_BYTES, "%s", given);
    }
}

/* Whether a file can be made in a folder: by making one, since permissions do not say all. */
static bool can_make_file(const char *folder)
{
    char probe[RESULT_PATH_BYTES];
    int descriptor;

    if (snprintf(probe, sizeof(probe), "%s/.cbank-XXXXXX", folder) >= RESULT_PATH_BYTES)
        return false;
    descriptor = mkstemp(probe);
    if (descriptor < 0)
        return false;
    close(descriptor);
    unlink(probe);
    return true;
}

enum status result_file_check(const char *given, const char *path)
{
    char folder[RESULT_PATH_BYTES], copy[RESULT_PATH_BYTES];
    struct stat info;
    bool exists;

    if (strcmp(path, "-") == 0)
        return STATUS_OK;
    if (given && is_folder(given))
        make_folders(given);
    snprintf(copy, sizeof(copy), "%s", path);
    snprintf(folder, sizeof(folder), "%s", dirname(copy));
    exists = stat(path, &info) == 0;
    if (exists && S_ISDIR(info.st_mode))
        return log_error(STATUS_USAGE, "cannot write the result to %s: it is a folder; end it in /", path);
    if (exists && !S_ISREG(info.st_mode))
        return STATUS_OK; /* a device or a pipe is written in place */
    if ((exists && access(path, W_OK) != 0) || !can_make_file(folder))
        return log_error(STATUS_USAGE, "cannot write the result to %s: %s; choose another place with --json", path,
                         strerror(errno));
    return STATUS_OK;
}
