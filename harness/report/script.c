/* SPDX-License-Identifier: MIT */
#include "script.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "child.h"
#include "log.h"

/* Where scripts lie, from the folder of the program: installed; built in build/, in build/NAME/, in build/tests/NAME/. */
static const char *const places[] = {"../share/cbank/scripts", "../scripts", "../../scripts", "../../../scripts"};

/* The first is what the distribution's packages are for. */
static const char *const pythons[] = {"/usr/bin/python3", "python3"};

enum status script_find(const char *name, char program[PATH_MAX], char script[PATH_MAX])
{
    const ssize_t length = readlink("/proc/self/exe", program, PATH_MAX - 1);
    const char *slash;

    if (length < 0)
        return log_error(STATUS_ENVIRONMENT, "cannot find out where cbank lies: %s; run scripts/%s with --program FILE",
                         strerror(errno), name);
    program[length] = '\0';
    slash = strrchr(program, '/');
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        const int bytes = snprintf(script, PATH_MAX, "%.*s/%s/%s", (int)(slash - program), program, places[i], name);

        if (bytes < PATH_MAX && access(script, R_OK) == 0)
            return STATUS_OK;
    }
    return log_error(STATUS_ENVIRONMENT, "no %s beside %s (in %s); make install puts it there", name, program,
                     places[0]);
}

const char *script_python(const char *modules)
{
    char try[256];

    snprintf(try, sizeof(try), "try:\n import %s\nexcept ImportError:\n raise SystemExit(1)", modules);
    for (size_t i = 0; i < sizeof(pythons) / sizeof(pythons[0]); i++) {
        char *words[] = {(char *)pythons[i], "-c", try, NULL};
        int code;

        if (child_run(pythons[i], words, &code) && code == 0)
            return pythons[i];
    }
    return NULL;
}
