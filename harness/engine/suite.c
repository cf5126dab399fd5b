/* SPDX-License-Identifier: MIT */
#include "suite.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "memory.h"
#include "program.h"

static const char *const folders[] = {"../share/cbank/examples", "../examples", "../../examples", "../../../examples",
                                      NULL};

static int is_kernel_file(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');

    return dot && strcmp(dot, ".cu") == 0;
}

enum status suite_paths(char **out)
{
    char program[PATH_MAX], found[PATH_MAX], folder[PATH_MAX] = "", here[PATH_MAX] = "";
    enum status status = program_find("the folder of the suite is", folders, program, found);
    size_t above; /* characters of the current folder's path */
    struct dirent **files = NULL;
    struct memory text = {0};
    FILE *stream;
    int count;

    if (status != STATUS_OK)
        return status;
    count =
        realpath(found, folder) && getcwd(here, sizeof(here)) ? scandir(folder, &files, is_kernel_file, alphasort) : -1;
    if (count <= 0)
        return log_error(STATUS_ENVIRONMENT, "no kernel files in %s: %s; make install puts them there", found,
                         count < 0 ? strerror(errno) : "it has none");
    above = strlen(here);
    above = strncmp(folder, here, above) == 0 && folder[above] == '/' ? above + 1 : 0;
    stream = memory_open(&text);
    for (int i = 0; i < count; i++) {
        if (stream)
            fprintf(stream, "%s%s/%s", i ? "," : "", folder + above, files[i]->d_name);
        free(files[i]);
    }
    free(files);
    if (!memory_close(&text, stream))
        return log_memory("the paths of the suite");
    *out = text.text;
    return STATUS_OK;
}
