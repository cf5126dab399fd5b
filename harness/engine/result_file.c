/* SPDX-License-Identifier: MIT
 * The file of a run: its name, its lock, and an empty result in it before anything is measured. A
 * process that is killed leaves a file that can be read and resumed. */
#include "result_file.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "files.h"
#include "log.h"

static bool is_folder(const char *path)
{
    struct stat info;

    return path[0] &&
           (path[strlen(path) - 1] == '/' || (stat(path, &info) == 0 && S_ISDIR(info.st_mode)));
}

static enum status cannot_write(const char *path, int error)
{
    return log_error(file_failed(error),
                     "cannot write the result to %s: %s; choose another path with --json", path,
                     strerror(error));
}

/* Makes up a name that no file has and that no other process takes, and writes an empty result
 * there. This reserves the name, and a reader of the file finds an interrupted run. The name is
 * "cbank-ENGINE-NAME-HOST-DEVICE-20260131T120000.123Z", without characters that trouble a shell or
 * a file system. DEVICE is the first digits of the UUID, or the device's number if it has none. */
static enum status reserve(struct result_file *file, const char *folder,
                           const struct result *result, uint32_t ordinal,
                           char path[RESULT_PATH_BYTES])
{
    enum { NAMES_MAX = 1000, NAME_BYTES = 216 };
    const char *slash = folder[0] && folder[strlen(folder) - 1] != '/' ? "/" : "";
    const char *host = result->host.name, *dash = strchr(result->device.uuid, '-');
    char name[NAME_BYTES], device[16], when[32];
    struct timespec now;
    struct tm utc;

    snprintf(device, sizeof(device), "%" PRIu32, ordinal);
    if (result->device.uuid[0])
        snprintf(device, sizeof(device), "%.8s", dash ? dash + 1 : result->device.uuid);
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    strftime(when, sizeof(when), "%Y%m%dT%H%M%S", &utc);
    snprintf(name, NAME_BYTES, "cbank-%s-%.64s-%.64s-%s-%s.%03dZ", result->engine,
             result->device.name, host[0] ? host : "host", device, when,
             (int)(now.tv_nsec / 1000000));
    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("-_.+", *c))
            *c = '_';
    for (unsigned i = 1; i <= NAMES_MAX; i++) {
        char number[16] = "";
        int error;

        if (i > 1)
            snprintf(number, sizeof(number), "-%u", i);
        if (snprintf(path, RESULT_PATH_BYTES, "%s%s%s%s.json", folder, slash, name, number) >=
            RESULT_PATH_BYTES)
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

enum status result_file_open(struct result_file *file, const char *given,
                             const struct result *result, uint32_t device, bool several,
                             char path[RESULT_PATH_BYTES])
{
    char *numbered = NULL;
    struct stat about;

    if (given && is_folder(given))
        mkdir(given, 0777);
    if (!given || is_folder(given))
        return reserve(file, given ? given : "", result, device, path);
    if (several && strcmp(given, "-") != 0 && !(numbered = file_of_device(given, device)))
        return log_memory("the name of the result");
    snprintf(path, RESULT_PATH_BYTES, "%s", numbered ? numbered : given);
    free(numbered);
    if (strcmp(path, "-") != 0 && stat(path, &about) == 0) {
        if (S_ISDIR(about.st_mode))
            return log_error(STATUS_USAGE,
                             "cannot write the result to %s: it is a folder; end it in /", path);
        if (S_ISREG(about.st_mode) && access(path, W_OK) != 0)
            return cannot_write(path, errno);
    }
    return file->lock.path ? STATUS_OK : file_lock_take(path, &file->lock);
}

void result_file_close(struct result_file *file, const char *path, const struct result *result,
                       bool failed)
{
    bool empty = true;

    for (size_t i = 0; i < result->cell_count; i++)
        empty = empty && result->cells[i].status != CELL_OK &&
                result->cells[i].status != CELL_FAILED && result->cells[i].time.summary.count == 0;
    if (file->reserved && failed && empty)
        unlink(path);
    file_lock_release(&file->lock);
    *file = (struct result_file){0};
}
