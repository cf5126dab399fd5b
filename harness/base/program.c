/* SPDX-License-Identifier: MIT
 * The path of the running program by /proc, or by the auxiliary vector where /proc is missing; and
 * folders relative to it. */
#include "program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "log.h"

enum status program_find(const char *what, const char *const names[], char program[PATH_MAX],
                         char found[PATH_MAX])
{
    const char *executed = (const char *)getauxval(AT_EXECFN);

    /* The second one is for machines without /proc. */
    if (!realpath("/proc/self/exe", program) && (!executed || !realpath(executed, program)))
        return log_error(STATUS_ENVIRONMENT, "cannot find the path of cbank: %s; mount /proc",
                         strerror(errno));
    for (const char *const *name = names; *name; name++)
        if (snprintf(found, PATH_MAX, "%.*s/%s", (int)(strrchr(program, '/') - program), program,
                     *name) < PATH_MAX &&
            access(found, R_OK | X_OK) == 0)
            return STATUS_OK;
    return log_error(STATUS_ENVIRONMENT,
                     "%s not where %s expects it (%s); make install puts it there", what, program,
                     names[0]);
}
