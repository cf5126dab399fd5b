/* SPDX-License-Identifier: MIT */
#include "result_file.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "files.h"
#include "log.h"

enum { NAME_BYTES = 216 };

/* Which device of its host: the first digits of its UUID, or its number where it has none. */
static void device_text(const struct device_info *device, uint32_t ordinal, char out[16])
{
    const char *dash = strchr(device->uuid, '-');

    if (device->uuid[0])
        snprintf(out, 16, "%.8s", dash ? dash + 1 : device->uuid);
    else
        snprintf(out, 16, "%" PRIu32, ordinal);
}

/* Now, as a name can have it: "20260131T120000.123Z". */
static void time_text(char out[32])
{
    struct timespec now;
    struct tm utc;
    size_t used;

    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    used = strftime(out, 32, "%Y%m%dT%H%M%S", &utc);
    snprintf(out + used, 32 - used, ".%03dZ", (int)(now.tv_nsec / 1000000));
}

/* "cbank-ENGINE-NAME-HOST-DEVICE-TIME", with nothing in it that a shell or a file system minds. */
static void made_up_name(const struct result *result, uint32_t ordinal, char name[NAME_BYTES])
{
    const char *host = result->host.name;
    char device[16], when[32];

    device_text(&result->device, ordinal, device);
    time_text(when);
    snprintf(name, NAME_BYTES, "cbank-%s-%.64s-%.64s-%s-%s", result->engine, result->device.name,
             host[0] ? host : "host", device, when);
    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("-_.+", *c))
            *c = '_';
}

static bool is_folder(const char *path)
{
    struct stat info;

    return path[0] && (path[strlen(path) - 1] == '/' || (stat(path, &info) == 0 && S_ISDIR(info.st_mode)));
}

static enum status cannot_write(const char *path, int error)
{
    return log_error(file_failed(error), "cannot write the result to %s: %s; choose another place with --json", path,
                     strerror(error));
}

/* Makes up a name that no file has and no other process takes, and writes the result there, with nothing measured yet: so
 * the name is taken, and whoever reads the file finds an interrupted run. */
static enum status reserve(struct result_file *file, const char *folder, const struct result *result, uint32_t ordinal,
                           char path[RESULT_PATH_BYTES])
{
    enum { NAMES_MAX = 1000 };
    const char *slash = folder[0] && folder[strlen(folder) - 1] != '/' ? "/" : "";
    char name[NAME_BYTES];

    made_up_name(result, ordinal, name);
    for (unsigned i = 1; i <= NAMES_MAX; i++) {
        char number[16] = "";
        int error;

        if (i > 1)
            snprintf(number, sizeof(number), "-%u", i);
        if (snprintf(path, RESULT_PATH_BYTES, "%s%s%s%s.json", folder, slash, name, number) >= RESULT_PATH_BYTES)
            return cannot_write(path, ENAMETOOLONG);
        error = file_lock_try(path, &file->lock);
        if (error && error != EWOULDBLOCK)
            return cannot_write(path, error);
        if (!error && access(path, F_OK) != 0) {
            file->reserved = true;
            return result_write(result, path);
        }
        file_lock_release(&file->lock);
    }
    return cannot_write(path, EEXIST);
}

/* Finds out before measuring that the result could not be written. */
static enum status check(const char *path)
{
    struct stat about;
    const bool exists = strcmp(path, "-") != 0 && stat(path, &about) == 0;

    if (exists && S_ISDIR(about.st_mode))
        return log_error(STATUS_USAGE, "cannot write the result to %s: it is a folder; end it in /", path);
    return exists && S_ISREG(about.st_mode) && access(path, W_OK) != 0 ? cannot_write(path, errno) : STATUS_OK;
}

void result_file_name(const char *given, uint32_t device, char path[RESULT_PATH_BYTES])
{
    const char *dot = given ? strrchr(given, '.') : NULL;

    path[0] = '\0';
    if (given && !is_folder(given) && strcmp(given, "-") != 0)
        snprintf(path, RESULT_PATH_BYTES, "%.*s-device%u%s", (int)(dot ? (size_t)(dot - given) : strlen(given)), given,
                 (unsigned)device, dot ? dot : "");
}

enum status result_file_open(struct result_file *file, const char *given, const struct result *result, uint32_t device,
                             bool several, char path[RESULT_PATH_BYTES])
{
    enum status status;

    if (given && is_folder(given))
        file_make_folders(given);
    if (!given || is_folder(given))
        return reserve(file, given ? given : "", result, device, path);
    if (several && strcmp(given, "-") != 0)
        result_file_name(given, device, path);
    else
        snprintf(path, RESULT_PATH_BYTES, "%s", given);
    status = check(path);
    if (status == STATUS_OK && !file->lock.path)
        status = file_lock_take(path, &file->lock);
    return status;
}

static bool is_empty(const struct result *result)
{
    for (size_t i = 0; i < result->cell_count; i++)
        if (result->cells[i].status == CELL_OK || result->cells[i].status == CELL_FAILED ||
            result->cells[i].time.summary.count > 0)
            return false;
    return true;
}

void result_file_close(struct result_file *file, const char *path, const struct result *result, bool failed)
{
    if (file->reserved && failed && is_empty(result))
        unlink(path);
    file_lock_release(&file->lock);
    *file = (struct result_file){0};
}
