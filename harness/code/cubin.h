/* SPDX-License-Identifier: MIT
 * Cubins: the functions and variables of an ELF file that ptxas wrote. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CUBIN_REASON_BYTES = 256 };

/* A table of an ELF file. It lies inside the file. */
struct cubin_table {
    uint64_t offset, bytes;
};

/* A file in memory, which need not be aligned and may be damaged. */
struct cubin {
    const unsigned char *data;
    size_t bytes;
    uint32_t architecture; /* 90 for sm_90 */
    struct cubin_table sections, symbols, strings;
    size_t section_names; /* index of the section that has them */
    const struct cubin_index *index; /* not owned; NULL: names are searched one by one */
};

/* The names of a file, for files with many kernels. */
struct cubin_index {
    struct cubin_name *sections; /* owned: sorted by name */
    uint32_t *variables; /* owned: symbols, in their order */
    size_t section_count, variable_count;
};

/* A function, in place. */
struct cubin_function {
    const char *symbol; /* mangled name */
    size_t number; /* of the symbol */
    const void *code;   /* of its section, which also has the functions that only it calls */
    size_t bytes;
    uint32_t architecture;
    bool kernel; /* the host can launch it */
};

/* A variable, in place. */
struct cubin_variable {
    const char *symbol;
    const char *section; /* ".nv.constant3" */
    uint64_t offset;     /* in its section */
    const void *data;    /* its initial value; NULL: zeros, which the file does not hold */
    size_t bytes;
};

/* Reads the headers of a file. Returns false if it is not a cubin or is damaged, with the reason
 * and the remedy. */
bool cubin_open(const void *data, size_t bytes, struct cubin *out, char reason[CUBIN_REASON_BYTES]);

/* Lists the names of a file, which then finds them by the index. Returns false when out of memory.
 * The caller closes *index when the file is no longer read. */
bool cubin_index_open(struct cubin *cubin, struct cubin_index *index);

/* Releases; accepts a zeroed struct. */
void cubin_index_close(struct cubin_index *index);

/* Steps through the functions that the file defines. *place is 0 before the first. Returns false
 * after the last. */
bool cubin_next(const struct cubin *cubin, uint64_t *place, struct cubin_function *out);

/* The same for variables. */
bool cubin_next_variable(const struct cubin *cubin, uint64_t *place, struct cubin_variable *out);

/* A section, in place. */
struct cubin_section {
    const char *name; /* "" if it has none that can be read */
    const unsigned char *data; /* NULL: it takes no room in the file */
    size_t bytes;
    uint32_t type;
};

/* Section `index`; false if there is none. */
bool cubin_section_at(const struct cubin *cubin, size_t index, struct cubin_section *out);

/* The first section that is called `before` and then `symbol`; false if there is none. */
bool cubin_section_named(const struct cubin *cubin, const char *before, const char *symbol,
                         struct cubin_section *out);

/* The name and size of symbol `index`; false if there is none. */
bool cubin_symbol_at(const struct cubin *cubin, size_t index, const char **name, size_t *bytes);

/* The section of code of symbol `index`, a function, with `symbol` as the section has it, and where
 * in it the function begins. False: the file does not define it. */
bool cubin_symbol_code(const struct cubin *cubin, size_t index, struct cubin_function *out,
                       uint64_t *begin);

/* Finds the first function whose symbol begins with `prefix`. Returns false if there is none or the
 * file is not a cubin. */
bool cubin_find(const void *data, size_t bytes, const char *prefix, struct cubin_function *out);
