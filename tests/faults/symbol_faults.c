/* SPDX-License-Identifier: MIT
 * A library to preload: functions that a library of the vendor's lacks, as an older one does.
 *
 * CBANK_ABSENT=NAME  dlsym finds no such symbol */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef void *find_symbol(void *library, const char *name);

void *dlsym(void *library, const char *name)
{
    /* The versions that glibc gave it before 2.34 and since. */
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"};
    const char *const absent = getenv("CBANK_ABSENT");
    find_symbol *find = NULL;

    if (absent && strcmp(absent, name) == 0)
        return NULL;
    for (size_t i = 0; !find && i < sizeof(versions) / sizeof(versions[0]); i++)
        *(void **)&find = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    return find ? find(library, name) : NULL;
}
