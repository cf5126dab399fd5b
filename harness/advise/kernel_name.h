/* SPDX-License-Identifier: MIT
 * Names of kernels: which are of one template, and which a user means. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Where a mangled name begins: behind what nvcc puts before the names of static kernels in code
 * that is linked on the device. The name itself, if it has no such part. */
const char *kernel_mangled(const char *name);

/* The part of a mangled name that instances of a template share: namespaces and the name itself,
 * without the arguments of the template and the parameters. Overloads share it, too. A name that is
 * not mangled is shared whole. Returns its bytes. */
size_t kernel_base_bytes(const char *name);

/* The same for people: "filters::blur<...>", or without "<...>" where it is no template. A long one
 * is cut. */
void kernel_base_name(const char *name, char *out, size_t bytes);

/* Orders mangled names as strcmp does, all files being one: nvcc gives names that are of a file
 * alone a hash of its path, so that the same source in two folders has two. 0: they differ in that
 * at most. */
int kernel_compare_names(const char *a, const char *b);

/* Whether a pattern of the shell matches a kernel: its mangled name, the name as C++ has it, that
 * of its template, or the last part of that. */
bool kernel_name_matches(const char *glob, const char *name, const char *readable);
