/* SPDX-License-Identifier: MIT
 * The parts of opening a kernel file: its compiler, the cache of builds, and what a cubin says. */
#pragma once

#include <limits.h>

#include "kernel_file.h"
#include "scratch.h"
#include "texts.h"

/* -- compilers: an nvcc, which runs as a child, or NVRTC, a library of the toolkit ------------- */

/* The functions of NVRTC, which return 0 on success: F(function, member, parameters). */
#define NVRTC_FUNCTIONS(F)                                                                        \
    F(nvrtcVersion, version, (int *major, int *minor))                                            \
    F(nvrtcCreateProgram, create,                                                                 \
      (void **program, const char *text, const char *name, int count, const char *const *headers, \
       const char *const *names))                                                                 \
    F(nvrtcCompileProgram, compile, (void *program, int count, const char *const *options))       \
    F(nvrtcGetCUBINSize, cubin_bytes, (void *program, size_t *bytes))                             \
    F(nvrtcGetCUBIN, cubin, (void *program, char *cubin))                                         \
    F(nvrtcGetPTXSize, ptx_bytes, (void *program, size_t *bytes))                                 \
    F(nvrtcGetPTX, ptx, (void *program, char *ptx))                                               \
    F(nvrtcGetProgramLogSize, log_bytes, (void *program, size_t *bytes))                          \
    F(nvrtcGetProgramLog, log, (void *program, char *text))                                       \
    F(nvrtcDestroyProgram, destroy, (void **program))

struct nvrtc {
#define MEMBER(function, member, parameters) int(*member) parameters;
    NVRTC_FUNCTIONS(MEMBER)
#undef MEMBER
};

struct kernel_compiler {
    char path[PATH_MAX]; /* of nvcc, as execvp takes it; "": NVRTC */
    struct nvrtc nvrtc; /* its library stays open */
    char version[KERNEL_COMPILER_BYTES]; /* "nvcc 13.0.88" */
    struct scratch scratch; /* of nvcc's temporary files */
    /* options: the user's, then those that nvcc takes from the environment */
    struct texts words;
    size_t user_words; /* number of the former */
    uint32_t architecture; /* 90 for sm_90 */
    double seconds; /* as in struct kernel_request */
};

/* The headers of kernel files. */
struct kernel_header {
    const char *name, *text;
};
enum { KERNEL_HEADERS = 3 };
extern const struct kernel_header kernel_headers[KERNEL_HEADERS];

/* Whether a text is one of them. */
bool kernel_is_header(const char *text);

/* What a compile reads. Paths are as the compiler names them. */
struct kernel_reads {
    const char *kernel; /* absolute path of the kernel file; not owned */
    struct texts files; /* the user's, and the headers of this program, in the order of reading */
    struct texts headers; /* of toolkit and system */
    struct texts data; /* .npy files that a text of the user's names: "SHA-256 NAME" */
    char text_sha256[SHA256_HEX_BYTES]; /* of the preprocessed text; "": there is none */
    char headers_sha256[SHA256_HEX_BYTES]; /* of `headers` */
    char unfollowed[KERNEL_REASON_BYTES]; /* why it may be more than that; "": it is all */
    char pipe[PATH_MAX]; /* what a directive can mean, and is no file but a pipe; "": nothing */
};

/* Finds a compiler: see struct kernel_request. *out has no members but its options.
 * STATUS_ENVIRONMENT, logged, if there is none. The caller closes *out in every case. */
enum status kernel_compiler_open(const char *name, struct kernel_compiler *out);

/* Releases, and removes the temporary files; accepts a zeroed struct. */
void kernel_compiler_close(struct kernel_compiler *compiler);

/* Preprocesses the sources of builds, and gathers what they read: nvcc says it by line markers, and
 * for NVRTC the sources are scanned. A source that cannot be preprocessed is no error here: nothing
 * is known of it then. STATUS_ENVIRONMENT, logged, if the compiler cannot run or does not end as it
 * should, or after a signal. */
enum status kernel_preprocess(struct kernel_compiler *compiler, const struct kernel_build *builds,
                              size_t count, struct kernel_reads *reads);

/* Compiles the sources of the builds that are not made yet. STATUS_ENVIRONMENT if the compiler
 * cannot run or does not end as it should, which is logged, or after a signal. A source that does
 * not compile is no error here. STATUS_USAGE, logged, if a build read a file that is not among
 * `reads`. */
enum status kernel_compile(struct kernel_compiler *compiler, struct kernel_build *builds,
                           size_t count, const struct kernel_reads *reads);

/* Looks in messages of a compiler for a static_assert of cbank.cuh, or for a limit of the
 * assembler, and writes the reason that it gives. False: the messages are about other errors. */
bool kernel_reason(const char *messages, char reason[KERNEL_REASON_BYTES]);

/* Writes the first error of messages about a kernel file in one line: "k.cu:20: what is wrong".
 * `path`: as the compiler names the file. False: the messages have no error. */
bool kernel_user_error(const char *messages, const char *path, char out[KERNEL_REASON_BYTES]);

/* Whether a call of a compiler failed for another cause than the source: `code` is the status from
 * waitpid, `made` whether it wrote what it should, `folder` is that of its files. Writes the cause,
 * and what to do about it. */
bool kernel_not_at_fault(const char *messages, int code, bool made, const char *folder,
                         char cause[2 * KERNEL_REASON_BYTES]);

/* Whether the disk of a folder has no room for what a compiler writes. */
bool kernel_disk_full(const char *folder);

/* Opens NVRTC. Compiles a source by it. */
bool kernel_nvrtc_open(struct kernel_compiler *out);
void kernel_nvrtc_compile(const struct kernel_compiler *compiler, struct kernel_build *build);

/* -- what a compile reads, and the hash of a kernel file --------------------------------------- */

/* Makes a hash that of what it is of, followed by these bytes. "" begins. */
void kernel_chain(char chain[SHA256_HEX_BYTES], const void *data, size_t bytes);

/* Makes a text of bytes that hold NULs, behind which compilers go on reading. */
void kernel_blank(char *text, size_t bytes);

/* Records why a compile may read other files, unless a reason is known: a text and a name, which
 * may be NULL. */
void kernel_unfollowed(struct kernel_reads *reads, const char *reason, const char *what);

/* Adds a file. `marked`: the compiler takes it for the system's. False when out of memory. */
bool kernel_reads_add(struct kernel_reads *reads, const char *path, bool marked);

bool kernel_reads_know(const struct kernel_reads *reads, const char *path);

/* Adds the files of a preprocessed text, and the text, which is changed. False when out of
 * memory. */
bool kernel_reads_take(struct kernel_reads *reads, char *text, size_t bytes);

/* Whether a preprocessed text, which is changed, is of a file that is not among the others: its
 * path. */
bool kernel_reads_lack(const struct kernel_reads *reads, char *text, char path[PATH_MAX]);

/* Adds the files that NVRTC may read. `own`: the folder of the headers of this program. False when
 * out of memory. */
bool kernel_reads_scan(struct kernel_reads *reads, const struct texts *words, const char *own);

/* The next literal of a text that ends with .npy, which names a file of data: where it begins, and
 * its length. NULL: there is none. *rest begins as the text, and is then behind it. */
const char *kernel_next_data(const char *text, const char **rest, size_t *length);

/* The path of a file of data by its name in a kernel file. False: it is too long. */
bool kernel_data_path(const char *kernel, const char *name, size_t length, char path[PATH_MAX]);

/* Hashes the user's files as they are now, the data that they name, and the options. Paths do not
 * count: two copies have the same hash. */
enum status kernel_identity(struct kernel_reads *reads, const struct texts *words, bool against,
                            char identity[SHA256_HEX_BYTES]);

/* Releases; accepts a zeroed struct. */
void kernel_reads_close(struct kernel_reads *reads);

/* -- the cache: one file for each build, which may be removed at any time ---------------------- */

/* Whether a build has an outcome that stays the same: a cubin, or a reason. */
bool kernel_build_made(const struct kernel_build *build);

/* Reads a regular file. NULL with errno if it cannot. The caller frees it. It ends with a NUL,
 * which *bytes does not count. */
char *kernel_read(const char *path, size_t *bytes);

/* The folder of the cache, which it makes: $CBANK_CACHE, else $XDG_CACHE_HOME/cbank, else
 * ~/.cache/cbank. NULL, with a message, if it cannot be written, or if others can change it or
 * what leads to it: then nothing is kept, and nothing is taken from there. The caller frees it. */
char *kernel_cache_folder(void);

/* Whether a folder is this user's, and nobody else but root can change it or what leads to it: code
 * from there may be run. False: `why` says who can. `path` is absolute. */
enum { KERNEL_WHY_BYTES = PATH_MAX + 128 };
bool kernel_folder_is_safe(const char *path, char why[KERNEL_WHY_BYTES]);

/* Looks for the outcome of a build. False if there is none, or if its file is damaged. */
bool kernel_cache_get(const char *folder, const char key[SHA256_HEX_BYTES],
                      struct kernel_build *build);

/* Keeps an outcome, and removes those that nobody asked for in 30 days. Failures are silent: it is
 * compiled again. */
void kernel_cache_put(const char *folder, const char key[SHA256_HEX_BYTES],
                      const struct kernel_build *build);

/* -- what a kernel file says of itself, and the choices of memory spaces for its tables -------- */

/* Reads the case and the tables from a cubin of the file into *out, which has its path alone.
 * Tables are in the order of their lines. STATUS_USAGE, logged with file and line, if there is no
 * case or no table, or if the file was compiled with a cbank.cuh of another version. */
enum status kernel_info_read(const void *cubin, size_t bytes, struct kernel_file *out);

/* Allocates the builds of a file, whose tables are known, from the text of struct kernel_request:
 * each choice once. Their memory spaces, names and as_written are set. STATUS_USAGE, logged, for a
 * table or a space that is unknown. */
enum status kernel_choices_read(const char *spaces, struct kernel_file *file);

/* -- the case ---------------------------------------------------------------------------------- */

/* The last of the names in a mangled name, `name` of "_ZN5outer4nameI...", and its length; another
 * text as it is. Whether it is that one. */
const char *kernel_last_name(const char *symbol, size_t *length);
bool kernel_is_named(const char *symbol, const char *name);

/* Asks the case of a file what it launches, on the processor. STATUS_USAGE, logged, if its body
 * says what is wrong, or if it launches another kernel than it is called. STATUS_OK also where the
 * processor cannot tell. */
enum status kernel_case_check(const struct kernel_file *file);
