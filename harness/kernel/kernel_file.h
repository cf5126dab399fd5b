/* SPDX-License-Identifier: MIT
 * A user's kernel file: compiled once for each choice of memory spaces, for one architecture.
 *
 * A build is a cubin with one kernel of the user, the kernel cbank_case_call, and the variables
 * cbank_case_info and cbank_table_info_NAME: see cbank_case.h. Cubins are kept in a cache, by the
 * preprocessed text and by the hashes of all files that are read, of the options and of the
 * compiler, with the PTX that they were made of. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cbank_case.h"
#include "sha256.h"
#include "status.h"
#include "texts.h"
#include "user_kernel.h"

enum { KERNEL_REASON_BYTES = 256, KERNEL_COMPILER_BYTES = 128 };

/* The names of the memory spaces, by enum cbank_space. */
extern const char *const kernel_space_names[CBANK_SPACE_COUNT];

struct kernel_request {
    const char *path;     /* of the .cu file */
    const char *spaces; /* comma-separated; each is a memory space for all tables, TABLE=SPACE
                         * joined by '+' for some (the others as the file has them), or "all". NULL:
                         * all, and as the file has them */
    /* path of an nvcc, or "nvrtc"; NULL: CBANK_NVCC, nvcc on PATH, /usr/local/cuda, NVRTC */
    const char *compiler;
    const char *options; /* for the compiler, separated by blanks; NULL: none */
    uint32_t architecture; /* 90 for sm_90 */
    bool against; /* of --against: the hash says so, as the file may be that of --kernel */
    const char *expected; /* a list of hashes, of which the file must have one; NULL: any */
    double
        seconds; /* of one call of nvcc, which is ended after that time; 0: it may take for ever */
    bool tolerant; /* a build in other memory spaces that does not compile is no error: see below */
};

/* The file with one choice of memory spaces. */
struct kernel_build {
    const struct kernel_file *file; /* which has the build */
    struct user_kernel kernel;
    enum cbank_space spaces[CBANK_TABLES_MAX]; /* by table */
    bool as_written; /* the memory spaces that the file has */
    char reason[KERNEL_REASON_BYTES]; /* why a table cannot live there; "": it can */
    /* of a tolerant request: "k.cu:9: what is wrong"; "": it compiles, or has a reason */
    char error[KERNEL_REASON_BYTES];
    void *cubin; /* owned; NULL: there is a reason, or an error */
    size_t cubin_bytes;
    /* owned: the text that the cubin was made of, which a driver compiles; NULL: not known */
    char *ptx;
    size_t ptx_bytes; /* without the NUL behind it */
    bool on_cpu; /* it is compiled to a shared object for the processor: the cubin is that */
    bool cached; /* it was compiled before */
    /* owned: what was compiled, and what the compiler said; NULL: it was not needed */
    char *source, *messages;
    enum status status; /* of a build that has neither cubin nor reason: whose fault it is */
};

struct kernel_file {
    const char *path; /* not owned */
    struct cbank_case_info info;
    struct cbank_table_info tables[CBANK_TABLES_MAX]; /* in the order of the file */
    size_t table_count;
    /* of all that the compiler reads but for files of toolkit and system, of the .npy files that
     * these name, and of the options: results of two compilers are of one kernel */
    char sha256[SHA256_HEX_BYTES];
    char headers_sha256[SHA256_HEX_BYTES]; /* of the files of toolkit and system */
    struct texts data; /* .npy files, by hash: "SHA-256 PATH" */
    char compiler[KERNEL_COMPILER_BYTES]; /* "nvcc 13.0.88" */
    double compile_seconds; /* of all builds; 0: all were in the cache */
    /* owned: a shared object with the case for the processor, see kernel_reference.h; NULL: none */
    void *reference;
    size_t reference_bytes;
    bool against; /* of the request */
    struct kernel_build *builds; /* owned */
    size_t build_count;
};

/* Compiles a file for all choices of memory spaces, as many at a time as there are processors, or
 * takes them from the cache. nvcc compiles its case for the processor too; it is no error, but
 * noted, if that fails. STATUS_USAGE, logged, for a file that does not compile (the compiler's
 * messages, with the file's lines) and for one that has no case or several. The same for memory
 * spaces or tables that it does not know, and for a case whose body says what is wrong, or that
 * launches another kernel than it is called, as far as the processor tells. STATUS_ENVIRONMENT,
 * logged, without a compiler, and for one that was killed, crashed, hung, wrote nothing or found no
 * room on the disk. On success the caller closes *out, which stays where it is: its builds point to
 * it. */
enum status kernel_file_open(const struct kernel_request *request, struct kernel_file *out);

/* STATUS_USAGE, logged, if a kernel file cannot be read. */
enum status kernel_file_readable(const char *path);

/* Adds the files that a compile of a kernel file may read: what its directives can mean, whatever
 * #if says, .npy files that a text names, and files that are named among `words`, the compiler's
 * options and others. The file need not be there. False when out of memory. */
bool kernel_file_reads(const char *path, const struct texts *words, struct texts *out);

/* Releases; accepts a zeroed struct. */
void kernel_file_close(struct kernel_file *file);

/* Whether the bytes of a .npy file are those that the hash of the kernel file has. `path`: the name
 * that the case gives, below the folder of the kernel file. */
bool kernel_data_read(const struct kernel_file *file, const char *path, const void *data,
                      size_t bytes);

/* Why a described case cannot be launched on any GPU: grid, block, or more elements than memory.
 * False: there is nothing against it. */
bool kernel_case_obstacle(const struct cbank_case_report *report, char reason[KERNEL_REASON_BYTES]);

/* Reads the .npy file of a buffer, or of a table, into `out`. STATUS_USAGE, logged, if it cannot be
 * read, if the hash of the kernel file does not cover it, or if it has other elements. */
enum status kernel_case_file(const struct kernel_file *file, const char *name,
                             const struct cbank_buffer_report *elements, void *out);

/* The name of the user's kernel in a cubin: the only kernel but cbank_case_call, or the one of the
 * case's name. NULL, with the reason, if it is not clear. The text lies in the cubin. */
const char *kernel_symbol(const struct kernel_build *build, char reason[KERNEL_REASON_BYTES]);

/* The name of the variable of a table in the constant bank of a cubin; NULL if there is none. The
 * text lies in the cubin. */
const char *kernel_constant_symbol(const struct kernel_build *build, const char *table);
