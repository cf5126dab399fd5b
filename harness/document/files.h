/* SPDX-License-Identifier: MIT
 * Which result files a path stands for. */
#ifndef CBANK_FILES_H
#define CBANK_FILES_H

#include <stddef.h>

#include "status.h"

struct file_list {
    char **paths; /* owned, and so are the strings */
    size_t count;
};

/* Adds what `path` stands for: the file itself, or every *.json file of a folder in the order of their names.
 * STATUS_USAGE for what is not there and for a folder without such files. */
enum status files_add(struct file_list *list, const char *path);

/* Releases; accepts a zeroed struct. */
void files_close(struct file_list *list);

#endif
