/* SPDX-License-Identifier: MIT */
#include "files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "log.h"

static enum status add_one(struct file_list *list, char *path)
{
    char **paths = path ? realloc(list->paths, (list->count + 1) * sizeof(*paths)) : NULL;

    if (!paths) {
        free(path);
        return log_error(STATUS_ENVIRONMENT, "out of memory for the names of files");
    }
    list->paths = paths;
    list->paths[list->count++] = path;
    return STATUS_OK;
}

static int is_result(const struct dirent *entry)
{
    const size_t bytes = strlen(entry->d_name), suffix = strlen(".json");

    return entry->d_name[0] != '.' && bytes > suffix && strcmp(entry->d_name + bytes - suffix, ".json") == 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static enum status add_folder(struct file_list *list, const char *folder)
{
    struct dirent **entries = NULL;
    const int count = scandir(folder, &entries, is_result, by_name);
    enum status status = STATUS_OK;

    if (count < 0)
        return log_error(STATUS_USAGE, "cannot read %s: %s", folder, strerror(errno));
    if (count == 0)
        status = log_error(STATUS_USAGE, "%s has no .json file; name a folder with results", folder);
    for (int i = 0; i < count; i++) {
        char *path = NULL;

        if (status == STATUS_OK &&
            asprintf(&path, "%s%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/", entries[i]->d_name) < 0)
            path = NULL;
        if (status == STATUS_OK)
            status = add_one(list, path);
        free(entries[i]);
    }
    free(entries);
    return status;
}

enum status files_add(struct file_list *list, const char *path)
{
    struct stat info;

    if (!path[0])
        return log_error(STATUS_USAGE, "an empty name is no file");
    if (stat(path, &info) != 0)
        return log_error(STATUS_USAGE, "cannot read %s: %s", path, strerror(errno));
    return S_ISDIR(info.st_mode) ? add_folder(list, path) : add_one(list, strdup(path));
}

void files_close(struct file_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->paths[i]);
    free(list->paths);
    *list = (struct file_list){0};
}
