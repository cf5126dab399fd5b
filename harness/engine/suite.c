/* SPDX-License-Identifier: MIT
 * The installed kernel files as one list of paths with commas between, as --kernel takes them. */
#include "suite.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "log.h"
#include "plan_kernels.h"
#include "program.h"

static const char *const folders[] = {"../share/cbank/examples", "../examples", "../../examples",
                                      "../../../examples", NULL};

enum status suite_paths(char **out)
{
    char program[PATH_MAX], found[PATH_MAX], folder[PATH_MAX], here[PATH_MAX];
    enum status status = program_find("the folder of the suite is", folders, program, found);
    struct texts files = {0};

    if (status == STATUS_OK)
        status = files_add(&files, realpath(found, folder) ? folder : found, ".cu");
    for (size_t i = 0; status == STATUS_OK && getcwd(here, sizeof(here)) && i < files.count; i++) {
        char *const path = files.items[i];
        const size_t above = strlen(here);

        if (strncmp(path, here, above) == 0 && path[above] == '/')
            memmove(path, path + above + 1, strlen(path + above));
    }
    if (status == STATUS_OK && !(*out = texts_join(&files, "")))
        status = log_memory("the paths of the suite");
    texts_close(&files);
    return status;
}

enum status suite_reads(const struct invocation *invocation, const char *value, struct texts *out)
{
    char *paths = NULL;
    enum status status = suite_paths(&paths);

    (void)value;
    if (status == STATUS_OK)
        status = kernels_read(invocation, paths, out);
    free(paths);
    return status;
}
