/* SPDX-License-Identifier: MIT
 * Two lists are held against each other, by device and inode where a file is there, and by folder
 * and name where it is not:
 *
 *   written: the value of each option that writes, and the files beside it    --json out.json
 *   read:    all that arguments and options that read name                    a.json,b.json
 */
#include "file_check.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file_lock.h"
#include "files.h"
#include "log.h"
#include "memory.h"

/* A file that is named, by an option or an argument. */
struct named {
    const struct option_row *option; /* NULL: an argument */
    char *path;                      /* owned */
    char *place;                     /* owned: where it would be made; NULL: it is there */
    struct stat about;               /* of one that is there */
    bool beside;                     /* a temporary file, beside the one of the option */
};

struct names {
    struct named *items; /* owned */
    size_t count;
};

static enum status no_memory(void)
{
    return log_memory("the files of the command line");
}

static void names_close(struct names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        free(names->items[i].path);
        free(names->items[i].place);
    }
    free(names->items);
}

/* The path of a file that is not there, with its folder as it is. NULL: there is no such folder, or
 * out of memory. */
static char *place_of(const char *path)
{
    char *const above = strdup(path), *const below = strdup(path), *place = NULL;
    char folder[PATH_MAX];

    if (above && below && realpath(dirname(above), folder) &&
        asprintf(&place, "%s/%s", folder, basename(below)) < 0)
        place = NULL;
    free(above);
    free(below);
    return place;
}

/* Adds a path, which is owned then. False when out of memory. */
static bool add(struct names *names, const struct option_row *option, char *path, bool beside)
{
    struct named *named;

    if (!path || !memory_grow(&names->items, names->count, sizeof(*names->items))) {
        free(path);
        return false;
    }
    named = &names->items[names->count++];
    *named = (struct named){.option = option, .path = path, .beside = beside};
    if (stat(path, &named->about) != 0)
        named->place = place_of(path);
    return true;
}

static bool is_same(const struct named *a, const struct named *b)
{
    if (strcmp(a->path, "-") == 0 || strcmp(b->path, "-") == 0)
        return strcmp(a->path, b->path) == 0;
    if (a->place || b->place)
        return a->place && b->place && strcmp(a->place, b->place) == 0;
    return S_ISREG(a->about.st_mode) && a->about.st_dev == b->about.st_dev &&
           a->about.st_ino == b->about.st_ino;
}

/* -- what is read ------------------------------------------------------------------------------ */

/* Adds the .json files of a folder, if it is one that can be read. False when out of memory. */
static bool add_folder(struct texts *out, const char *path)
{
    return files_add_folder(out, path, ".json") || errno != ENOMEM;
}

enum status file_check_list(const struct invocation *invocation, const char *value,
                            struct texts *out)
{
    char *const copy = strdup(value), *rest = copy;
    bool added = copy && texts_take(out, strdup(value)) && add_folder(out, value);

    (void)invocation;
    if (!strchr(value, ','))
        rest = NULL;
    for (char *part; added && (part = strsep(&rest, ","));)
        added = texts_take(out, strdup(part)) && add_folder(out, part);
    free(copy);
    return added ? STATUS_OK : no_memory();
}

static enum status add_read(const struct invocation *invocation, const struct option_row *option,
                            option_reads *reads, const char *value, struct names *out)
{
    struct texts found = {0};
    enum status status = (reads ? reads : file_check_list)(invocation, value, &found);

    for (size_t i = 0; status == STATUS_OK && i < found.count; i++) {
        if (!add(out, option, found.items[i], false))
            status = no_memory();
        found.items[i] = NULL; /* it is the list's now, or freed */
    }
    texts_close(&found);
    return status;
}

/* -- what is written --------------------------------------------------------------------------- */

enum { DEVICES_MAX = 64 }; /* whose files are told apart by --device */

static enum status add_written(const struct option_row *option, const char *value,
                               struct names *out)
{
    bool added = add(out, option, strdup(value), false);
    char *path, *target;

    if (strcmp(value, "-") == 0)
        return added ? STATUS_OK : no_memory();
    target = file_target(value);
    for (size_t i = 0; added && target && i < FILES_BESIDE; i++)
        added =
            asprintf(&path, "%s%s", target, file_beside[i]) >= 0 && add(out, option, path, true);
    for (unsigned device = 0; added && option->numbered && device < DEVICES_MAX; device++)
        added = add(out, option, file_of_device(value, device), true);
    free(target);
    return added ? STATUS_OK : no_memory();
}

/* -- the check --------------------------------------------------------------------------------- */

static enum status compare_names(const struct names *written, const struct names *read)
{
    for (size_t i = 0; i < written->count; i++) {
        const struct named *output = &written->items[i];
        const struct named *found = NULL;

        for (size_t k = 0; !found && k < read->count; k++)
            /* An option may update its file in place: it reads what it writes. */
            if (read->items[k].option != output->option && is_same(output, &read->items[k]))
                found = &read->items[k];
        for (size_t k = 0; !found && !output->beside && k < written->count; k++)
            if (written->items[k].option != output->option && !written->items[k].beside &&
                is_same(output, &written->items[k]))
                found = &written->items[k];
        if (found)
            return log_error(STATUS_USAGE,
                             "--%s: %s is named for something else, too%s%s; give another file",
                             output->option->name, output->path,
                             strcmp(output->path, found->path) == 0 ? "" : ": ",
                             strcmp(output->path, found->path) == 0 ? "" : found->path);
    }
    return STATUS_OK;
}

/* A file that is not there can be made: what is measured for it would be lost. */
static enum status check_folders(const struct names *written)
{
    for (size_t i = 0; i < written->count; i++) {
        const struct named *output = &written->items[i];
        char *const path = strdup(output->path);
        int error = 0;

        if (!path)
            return no_memory();
        if (!output->beside && strcmp(path, "-") != 0 && output->about.st_mode == 0 &&
            access(dirname(path), W_OK | X_OK) != 0)
            error = errno;
        free(path);
        if (error)
            return file_cannot_write(output->path, error);
    }
    return STATUS_OK;
}

static enum status list_option(const struct invocation *invocation,
                               const struct given_option *given, struct names *written,
                               struct names *read)
{
    const struct option_row *option = given->option;
    enum status status = STATUS_OK;

    if (option->file & FILE_WRITTEN)
        status = add_written(option, given->value, written);
    if (status == STATUS_OK && option->file & FILE_READ)
        status =
            add_read(invocation, option, option->reads, given->value ? given->value : "", read);
    return status;
}

/* Whether an option of the list writes: if none does, there is nothing to hold inputs against. */
static bool any_written(const struct given_option *options, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (options[i].option->file & FILE_WRITTEN)
            return true;
    return false;
}

enum status file_check(const struct command *command, const struct invocation *invocation,
                       const struct given_option *unsaid, size_t unsaid_count)
{
    struct names written = {0}, read = {0};
    enum status status = STATUS_OK;

    if (!any_written(invocation->given, invocation->given_count) &&
        !any_written(unsaid, unsaid_count))
        return STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < invocation->given_count; i++)
        status = list_option(invocation, &invocation->given[i], &written, &read);
    for (size_t i = 0; status == STATUS_OK && i < unsaid_count; i++)
        status = list_option(invocation, &unsaid[i], &written, &read);
    for (size_t i = 0; status == STATUS_OK && i < invocation->argument_count; i++)
        status = add_read(invocation, NULL, command->reads, invocation->arguments[i], &read);
    if (status == STATUS_OK && !add(&read, NULL, strdup("/proc/self/exe"), false))
        status = no_memory();
    if (status == STATUS_OK)
        status = compare_names(&written, &read);
    if (status == STATUS_OK)
        status = check_folders(&written);
    names_close(&written);
    names_close(&read);
    return status;
}
