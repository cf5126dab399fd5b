/* SPDX-License-Identifier: MIT
 * Symbols of an open library, by dlsym. ISO C has no conversion from an object pointer to a
 * function pointer, so the address is copied by its bytes. */
#include "library.h"

#include <dlfcn.h>
#include <string.h>

bool library_bind(void *handle, const struct library_symbol *symbols, size_t count, void *functions,
                  const char **missing)
{
    for (size_t i = 0; i < count; i++) {
        void *const address = dlsym(handle, symbols[i].name);

        if (!address) {
            *missing = symbols[i].name;
            return false;
        }
        memcpy((char *)functions + symbols[i].offset, &address, sizeof(address));
    }
    return true;
}
