/* SPDX-License-Identifier: MIT
 * Indices of lookups from a .npy file, which is mapped and not copied. Cells know the file by the
 * first 64 bits of its hash. */
#include <stdlib.h>
#include <string.h>

#include "index_list.h"
#include "npy.h"

enum status index_list_map(struct index_list *list, const char *path,
                           const struct index_array **out)
{
    struct index_array array = {.path = path};
    char digits[17] = "";
    struct npy_file file;
    enum status status;

    for (*out = list->first; *out; *out = (*out)->next)
        if ((*out)->path && strcmp((*out)->path, path) == 0)
            return STATUS_OK;
    status = npy_open(path, false, &file);
    if (status != STATUS_OK)
        return status;
    array.indices = (struct indices){file.array.values, file.array.bytes, file.array.is_signed,
                                     file.array.count};
    array.file = file.mapping;
    array.file_bytes = file.bytes;
    array.rows = file.array.dimensions > 1 ? file.array.shape[0] : 1;
    array.elements = array.indices.count / array.rows;
    array.highest = indices_highest(&array.indices);
    sha256_hex(file.mapping, file.bytes, array.sha256);
    /* The first 64 bits of the hash. Never 0, which stands for no file. */
    memcpy(digits, array.sha256, sizeof(digits) - 1);
    array.index_file_hash = strtoull(digits, NULL, 16);
    array.index_file_hash = array.index_file_hash ? array.index_file_hash : 1;
    *out = index_list_add(list, &array);
    if (!*out)
        npy_close(&file);
    return *out ? STATUS_OK : STATUS_ENVIRONMENT;
}
