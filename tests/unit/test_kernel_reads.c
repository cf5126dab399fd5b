/* SPDX-License-Identifier: MIT
 * Tests of what a compile reads, and of the hash of a kernel file. The simulated GPU's stand-in for
 * nvcc preprocesses, and copies a cubin where it should compile. One test asks the compilers of a
 * CUDA toolkit where there is one. */
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture.h"
#include "kernel_document.h"
#include "kernel_elf.h"
#include "kernel_parts.h"
#include "test.h"

enum { TEXT_BYTES = 8192 };

struct folder {
    char path[64], kernel[96], compiler[96], options[1024];
};

/* A form of including a header, whose path below the folder is `header`. */
struct form {
    const char *lines, *header;
    bool scanned; /* NVRTC's sources show it, too */
};

/* %s is the folder. */
static const struct form including[] = {
    {"#include \"h01.h\"\n", "h01.h", true},
    {"  #  include   \"h02.h\"\n", "h02.h", true},
    {"/* x */ #include \"h03.h\"\n", "h03.h", true},
    {"#/**/include \"h04.h\"\n", "h04.h", true},
    {"%%:include \"h05.h\"\n", "h05.h", true},
    {"#import \"h06.h\"\n", "h06.h", true},
    {"#inc\\\nlude \"h07.h\"\n", "h07.h", true},
    {"#include \\\n  \"h08.h\"\n", "h08.h", true},
    {"#define H09 \"h09.h\"\n#include H09\n", "h09.h", false},
    {"#define TEXT_(x) #x\n#define TEXT(x) TEXT_(x)\n#include TEXT(h10.h)\n", "h10.h", false},
    {"#include <h11.h>\n", "d1/h11.h", true},
    {"#if __has_include(\"h12.h\")\n#include \"h12.h\"\n#endif\n", "h12.h", true},
    {"#include \"sub/../h13.h\"\n", "h13.h", true},
    {"#include \"sub/nested.h\"\n", "sub/h14.h", true},
    {"#include_next \"h15.h\"\n", "h15.h", true},
    {"#include \"%s/h16.h\"\n", "h16.h", true},
    {"#if 1 /* x\n */\n#include \"h17.h\" // y\n#endif\n", "h17.h", true},
    {"#ifdef CBANK_REFERENCE\n#include \"h18.h\"\n#endif\n", "h18.h", true},
    {"/* several\n lines */ #include \"h19.h\" /* and\n more */\n", "h19.h", true},
    {"#line 7 \"other.cu\"\n#include \"h20.h\"\n", "h20.h", true},
    {"#include \"h 21.h\"\n", "h 21.h", true},
    {"#include \"link.h\"\n", "h22.h", true},
    {"char apostrophe = '\"', digits = 1'0; /* \" */ int y;\n#include \"h23.h\"\n", "h23.h", true},
    {"// data: \"h24.npy\"\n", "h24.npy", true},
    /* @ is a NUL, which compilers pass over */
    {"// @\n#include \"h25.h\"\n", "h25.h", true},
};

/* The headers of options, in the order of the options below. */
static const struct form of_options[] = {
    {"#include <o01.h>\n", "d1/o01.h", true},
    {"#include <o02.h>\n", "d2/o02.h", true},
    {"#include <o03.h>\n", "d3/o03.h", true},
    {"#include <o04.h>\n", "d4/o04.h", true},
    {"#include <o05.h>\n", "d5/o05.h", true},
    {"#include <o06.h>\n", "d6/o06.h", true},
    {"#include <o07.h>\n", "d7/o07.h", false},
    {"", "o08.h", false},
    {"", "o09.h", false},
    {"#include <o10.h>\n", "d10/o10.h", false},
    {"#include <o11.h>\n", "d11/o11.h", false},
    {"#include <o12.h>\n", "d12/o12.h", false},
    {"#include TEXT(O13)\n", "o13.h", false},
    {"", "o14.txt", false},
};

/* @ is the folder. */
static const char options_text[] =
    "-I @/d1 -I@/d2 -I=@/d3 -I@/d4,@/d5 --include-path=@/d6 -isystem @/d7 -include @/o08.h "
    "--pre-include @/o09.h -Xcompiler=-I@/d10 -Xcompiler -I@/d11 -DO13=@/o13.h -optf @/o14.txt";

enum {
    INCLUDING = sizeof(including) / sizeof(including[0]),
    OF_OPTIONS = sizeof(of_options) / sizeof(of_options[0])
};

static void put(const struct folder *folder, const char *name, const char *text)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/%s", folder->path, name);
    file_put(path, text, strlen(text));
}

/* The text of a header: a declaration whose last digit a test changes. */
static void put_header(const struct folder *folder, const struct form *form, size_t number,
                       int digit)
{
    char text[128];

    if (strcmp(form->header, "o14.txt") == 0)
        snprintf(text, sizeof(text), "-DO14=%d\n", digit);
    else
        snprintf(text, sizeof(text), "static const int header_%zu = %d;\n", number, digit);
    put(folder, form->header, text);
}

/* The stand-in with headers of its own, in a folder outside of the kernel file's. */
static void put_toolkit(const struct folder *folder, const char *header)
{
    char toolkit[96], path[128], command[256];

    snprintf(toolkit, sizeof(toolkit), "%s.toolkit", folder->path);
    snprintf(command, sizeof(command), "mkdir -p %s/crt && cp tests/simulated/compiler/nvcc %s/",
             toolkit, toolkit);
    assert_int_equal(system(command), 0);
    snprintf(path, sizeof(path), "%s/cuda_runtime.h", toolkit);
    file_put(path, header, strlen(header));
    snprintf(path, sizeof(path), "%s/crt/host_config.h", toolkit);
    file_put(path, "", 0);
}

static void put_compiler(const struct folder *folder, const char *version)
{
    char text[512];

    snprintf(text, sizeof(text),
             "#!/bin/sh\n[ \"$1\" = --version ] && echo ', V%s' && exit\n"
             "STAND_IN_CUBIN=%s/cubin exec %s.toolkit/nvcc \"$@\"\n",
             version, folder->path, folder->path);
    file_put(folder->compiler, text, strlen(text));
    chmod(folder->compiler, 0700);
}

static int open_folder(void **state)
{
    static const char *const folders[] = {"d1", "d2",  "d3",  "d4",  "d5", "d6",
                                          "d7", "sub", "d10", "d11", "d12"};
    struct folder *folder = calloc(1, sizeof(*folder));
    char path[256], text[TEXT_BYTES] = "#define CBANK_CASE\n";
    struct elf_file elf;
    size_t bytes;

    assert_true(access("tests/simulated/compiler/nvcc", X_OK) == 0); /* the root of the tree */
    strcpy(folder->path, "/tmp/cbank-test-XXXXXX");
    assert_non_null(mkdtemp(folder->path));
    snprintf(folder->kernel, sizeof(folder->kernel), "%s/kernel.cu", folder->path);
    snprintf(folder->compiler, sizeof(folder->compiler), "%s/nvcc", folder->path);
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder->path, folders[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    for (size_t i = 0; i < INCLUDING + OF_OPTIONS; i++) {
        const struct form *form = i < INCLUDING ? &including[i] : &of_options[i - INCLUDING];

        put_header(folder, form, i, 1);
        snprintf(text + strlen(text), sizeof(text) - strlen(text), form->lines, folder->path);
    }
    put(folder, "sub/nested.h", "#include \"h14.h\"\n");
    snprintf(path, sizeof(path), "%s/link.h", folder->path);
    assert_int_equal(symlink("h22.h", path), 0);
    bytes = strlen(text);
    *strchr(text, '@') = '\0';
    file_put(folder->kernel, text, bytes);
    for (const char *place = options_text; *place; place++)
        snprintf(folder->options + strlen(folder->options),
                 sizeof(folder->options) - strlen(folder->options), "%.*s",
                 *place == '@' ? (int)strlen(folder->path) : 1,
                 *place == '@' ? folder->path : place);
    put_compiler(folder, "13.0.88");
    put_toolkit(folder, "");
    make_elf(&elf);
    snprintf(path, sizeof(path), "%s/cubin", folder->path);
    file_put(path, (const char *)&elf, sizeof(elf));
    snprintf(path, sizeof(path), "%s/cache", folder->path);
    setenv("CBANK_CACHE", path, 1);
    snprintf(path, sizeof(path), "%s/d12", folder->path);
    setenv("CPATH", path, 1);
    *state = folder;
    return 0;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status, (void)type, (void)walk;
    return remove(path);
}

static int close_folder(void **state)
{
    struct folder *folder = *state;

    unsetenv("CBANK_CACHE");
    unsetenv("CPATH");
    nftw(folder->path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    strcat(folder->path, ".toolkit");
    nftw(folder->path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(folder);
    return 0;
}

/* The outcome of opening a kernel file. */
struct opened {
    char sha256[SHA256_HEX_BYTES], headers_sha256[SHA256_HEX_BYTES];
    bool cached;
};

static struct opened open_file(const struct folder *folder, const char *options)
{
    const struct kernel_request request = {.path = folder->kernel,
                                           .spaces = "written",
                                           .compiler = folder->compiler,
                                           .options = options,
                                           .architecture = 90};
    struct kernel_file file;
    struct opened opened;

    assert_int_equal(kernel_file_open(&request, &file), STATUS_OK);
    memcpy(opened.sha256, file.sha256, sizeof(opened.sha256));
    memcpy(opened.headers_sha256, file.headers_sha256, sizeof(opened.headers_sha256));
    opened.cached = file.builds[0].cached;
    kernel_file_close(&file);
    return opened;
}

/* Opens a file whose messages do not count. */
static struct opened open_quietly(const struct folder *folder, const char *options)
{
    struct capture capture;
    struct opened opened;

    capture_begin(&capture, stderr);
    opened = open_file(folder, options);
    capture_end(&capture);
    return opened;
}

/* Without the options of a file, which keep everything out of the cache. */
static void leave_option_file(struct folder *folder)
{
    *strstr(folder->options, " -optf") = '\0';
}

/* -- the hash ---------------------------------------------------------------------------------- */

TEST_WITH(one_byte_of_a_file_that_is_read_is_another_kernel, open_folder, close_folder)
{
    struct folder *folder = *state;
    struct opened first, changed;

    leave_option_file(folder);
    first = open_file(folder, folder->options);
    assert_false(first.cached);
    changed = open_file(folder, folder->options);
    assert_true(changed.cached);
    assert_string_equal(changed.sha256, first.sha256);
    for (size_t i = 0; i < INCLUDING + OF_OPTIONS - 1; i++) {
        const struct form *form = i < INCLUDING ? &including[i] : &of_options[i - INCLUDING];

        put_header(folder, form, i, 2);
        changed = open_file(folder, folder->options);
        if (strcmp(changed.sha256, first.sha256) == 0 || changed.cached)
            fail_msg("a change of %s is not seen", form->header);
        put_header(folder, form, i, 1);
    }
    changed = open_file(folder, folder->options);
    assert_true(changed.cached);
    assert_string_equal(changed.sha256, first.sha256);
}

TEST_WITH(a_file_of_options_counts_and_keeps_code_out_of_the_cache, open_folder, close_folder)
{
    struct folder *folder = *state;
    struct capture capture;
    struct opened first, again, changed;

    capture_begin(&capture, stderr);
    first = open_file(folder, folder->options);
    again = open_file(folder, folder->options);
    put_header(folder, &of_options[OF_OPTIONS - 1], 0, 2);
    changed = open_file(folder, folder->options);
    capture_end(&capture);
    assert_non_null(strstr(capture.text, "it is compiled each time, and its hash may leave out "
                                         "what it reads: more options are in a file: -optf"));
    assert_string_equal(first.sha256, again.sha256);
    assert_string_not_equal(first.sha256, changed.sha256);
    assert_false(again.cached);
}

TEST_WITH(a_new_file_before_another_is_seen, open_folder, close_folder)
{
    struct folder *folder = *state;
    struct opened first, shadowed, there;

    leave_option_file(folder);
    first = open_file(folder, folder->options);
    put(folder, "d1/o06.h", "/* before that of d6 */\n");
    shadowed = open_file(folder, folder->options);
    assert_string_not_equal(shadowed.sha256, first.sha256);
    assert_false(shadowed.cached);
    /* asked for, and never read: the text that is compiled is another */
    put(folder, "kernel.cu",
        "#define CBANK_CASE\n#if __has_include(\"new.h\")\nint there;\n#endif\n");
    open_file(folder, NULL);
    assert_true(open_file(folder, NULL).cached);
    put(folder, "new.h", "");
    there = open_file(folder, NULL);
    assert_false(there.cached);
}

/* Swapped contents are the same set of files. */
TEST_WITH(files_that_swap_their_contents_are_another_kernel, open_folder, close_folder)
{
    struct folder *folder = *state;
    struct opened first, swapped;

    put(folder, "kernel.cu", "#define CBANK_CASE\n#include \"h01.h\"\n#include \"h02.h\"\n");
    put(folder, "h01.h", "int b;\n");
    put(folder, "h02.h", "int a;\n");
    first = open_file(folder, NULL);
    put(folder, "h01.h", "int a;\n");
    put(folder, "h02.h", "int b;\n");
    swapped = open_file(folder, NULL);
    assert_string_not_equal(swapped.sha256, first.sha256);
    assert_false(swapped.cached);
}

TEST_WITH(another_compiler_or_toolkit_compiles_the_same_kernel_again, open_folder, close_folder)
{
    struct folder *folder = *state;
    struct opened first, again;

    leave_option_file(folder);
    first = open_file(folder, folder->options);
    assert_true(open_file(folder, folder->options).cached);
    put_compiler(folder, "13.1.1");
    again = open_file(folder, folder->options);
    assert_string_equal(again.sha256, first.sha256);
    assert_string_equal(again.headers_sha256, first.headers_sha256);
    assert_false(again.cached);
    put_toolkit(folder, "int of_the_toolkit;\n");
    again = open_file(folder, folder->options);
    assert_string_equal(again.sha256, first.sha256);
    assert_string_not_equal(again.headers_sha256, first.headers_sha256);
    assert_false(again.cached);
}

TEST_WITH(what_differs_between_memory_spaces_or_is_not_followed_is_said, open_folder, close_folder)
{
    static const struct {
        const char *text, *said;
    } rows[] = {
        {"#ifdef CBANK_SPACE_t\n#endif\n", "it may include other files by CBANK_SPACE_"},
        {"void f() { asm(\".incbin \\\"data\\\"\"); }\n", "its assembly reads files by .incbin"},
        {"#line 3 \"gone.h\"\n# 1 \"gone.h\" 1\n", "a file that cannot be read: gone.h"},
    };
    struct folder *folder = *state;
    struct capture capture;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[256];

        snprintf(text, sizeof(text), "#define CBANK_CASE\n%s", rows[i].text);
        put(folder, "kernel.cu", text);
        capture_begin(&capture, stderr);
        open_file(folder, NULL);
        capture_end(&capture);
        assert_non_null(strstr(capture.text, rows[i].said));
        assert_false(open_quietly(folder, NULL).cached);
    }
}

TEST_WITH(a_file_that_is_not_expected_is_not_compiled, open_folder, close_folder)
{
    struct folder *folder = *state;
    struct kernel_request request = {.path = folder->kernel,
                                     .spaces = "written",
                                     .compiler = folder->compiler,
                                     .architecture = 90,
                                     .expected = "0123456789abcdef"};
    struct kernel_file file;
    struct capture capture;
    struct opened first;

    put(folder, "kernel.cu", "#define CBANK_CASE\n");
    first = open_file(folder, NULL);
    request.expected = first.sha256;
    assert_int_equal(kernel_file_open(&request, &file), STATUS_OK);
    kernel_file_close(&file);
    put(folder, "kernel.cu", "#define CBANK_CASE\nan error\n");
    capture_begin(&capture, stderr);
    assert_int_equal(kernel_file_open(&request, &file), STATUS_USAGE);
    capture_end(&capture);
    assert_non_null(strstr(capture.text, "is not the file that was measured"));
    assert_non_null(strstr(capture.text, first.sha256));
}

TEST(markers_are_read_as_compilers_write_them)
{
    static const struct {
        const char *text, *path; /* NULL: no file begins */
    } rows[] = {
        {"# 1 \"a.h\" 1", "a.h"},
        {"# 12 \"/a b/c\\\\d\\\"e.h\" 1 3 4", "/a b/c\\d\"e.h"},
        {"# 1 \"\\303\\244.h\" 1", "\303\244.h"},
        {"# 1 \"a.h\" 2", NULL},
        {"# 1 \"a.h\"", NULL},
        {"#line 1 \"a.h\" 1", NULL},
        {"# 1 \"<command-line>\" 1", NULL},
        {"# 1 \"a.h", NULL},
        {"# 1 \"\\", NULL},
        {"# 1 \"\\3", NULL},
        {"# 1 \"\\30", NULL},
        {"# 1 ", NULL},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *const text = strdup(rows[i].text), path[PATH_MAX];
        const struct kernel_reads none = {.kernel = "/kernel.cu"};

        assert_int_equal(kernel_reads_lack(&none, text, path), rows[i].path != NULL);
        if (rows[i].path)
            assert_string_equal(path, rows[i].path);
        free(text);
    }
}

/* -- compilers of a toolkit -------------------------------------------------------------------- */

/* Whether a file of the folder is among those that a compile reads, or its data. */
static bool is_read(const struct kernel_reads *reads, const struct folder *folder, const char *name)
{
    const struct texts *const lists[] = {&reads->files, &reads->data};
    char wanted[256], real[PATH_MAX], known[PATH_MAX];

    snprintf(wanted, sizeof(wanted), "%s/%s", folder->path, name);
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < lists[i]->count; k++)
            if (i == 1 ? strstr(lists[i]->items[k], name) != NULL
                       : realpath(lists[i]->items[k], known) && realpath(wanted, real) &&
                             strcmp(real, known) == 0)
                return true;
    return false;
}

/* Asks a compiler what the kernel reads: all of the forms, or those that a scan can see. */
static void expect_read(const struct folder *folder, const char *compiler, bool scanned)
{
    struct kernel_compiler found = {.architecture = 90};
    struct kernel_reads reads = {.kernel = folder->kernel};
    char sources[2][256], identity[SHA256_HEX_BYTES], options[1024], *rest = options;
    struct kernel_build builds[2] = {{.on_cpu = false}, {.on_cpu = true}};

    for (size_t i = 0; i < 2; i++) {
        snprintf(sources[i], sizeof(sources[i]), "%s#include \"%s\"\n",
                 i ? "#define CBANK_REFERENCE\n" : "", folder->kernel);
        builds[i].source = sources[i];
    }
    strcpy(options, folder->options);
    for (char *word; (word = strsep(&rest, " "));)
        assert_true(texts_take(&found.words, strdup(word)));
    found.user_words = found.words.count;
    assert_int_equal(kernel_compiler_open(compiler, &found), STATUS_OK);
    assert_int_equal(kernel_preprocess(&found, builds, 2, &reads), STATUS_OK);
    assert_int_equal(kernel_identity(&reads, &found.words, false, identity), STATUS_OK);
    for (size_t i = 0; i < INCLUDING + OF_OPTIONS; i++) {
        const struct form *form = i < INCLUDING ? &including[i] : &of_options[i - INCLUDING];

        if ((!scanned || form->scanned) && !is_read(&reads, folder, form->header))
            fail_msg("%s: it does not tell that it reads %s", found.version, form->header);
    }
    assert_true(is_read(&reads, folder, "kernel.cu"));
    if (scanned)
        assert_string_not_equal(reads.unfollowed, "");
    kernel_reads_close(&reads);
    kernel_compiler_close(&found);
}

TEST_WITH(nvcc_tells_every_file, open_folder, close_folder)
{
    if (access("/usr/local/cuda/bin/nvcc", X_OK) != 0)
        skip();
    expect_read(*state, "/usr/local/cuda/bin/nvcc", false);
}

TEST_WITH(sources_for_nvrtc_are_scanned, open_folder, close_folder)
{
    struct kernel_compiler found = {0};

    if (!kernel_nvrtc_open(&found))
        skip();
    expect_read(*state, "nvrtc", true);
}

TEST(nvcc_and_nvrtc_agree_on_the_hash_of_an_example)
{
    static const char *const compilers[] = {"/usr/local/cuda/bin/nvcc", "nvrtc"};
    char hashes[2][SHA256_HEX_BYTES] = {"", ""};
    struct kernel_compiler found = {0};

    if (access(compilers[0], X_OK) != 0 || !kernel_nvrtc_open(&found))
        skip();
    for (size_t i = 0; i < 2; i++) {
        const struct kernel_request request = {.path = "examples/crc32.cu",
                                               .spaces = "written",
                                               .compiler = compilers[i],
                                               .architecture = 90};
        struct kernel_file file;

        assert_int_equal(kernel_file_open(&request, &file), STATUS_OK);
        memcpy(hashes[i], file.sha256, SHA256_HEX_BYTES);
        kernel_file_close(&file);
    }
    assert_string_equal(hashes[0], hashes[1]);
}

/* -- options of documents ---------------------------------------------------------------------- */

TEST_WITH(of_a_document_only_harmless_options_are_used, open_folder, close_folder)
{
    static const struct {
        const char *options;
        bool used;
    } rows[] = {
        {NULL, true},
        {"", true},
        {"-DN=4 -O2 -std=c++17 -I %s/sub", true},
        {"-O -D N -D M=1.5f -I%s/sub/.", true},
        {"-I %s", true},
        {"-I /usr/include", false},
        {"-I%s/..", false},
        {"-I%s/absent", false},
        {"-I%s/d1,%s/d2", false},
        {"-I", false},
        {"-D", false},
        {"-DX=$(touch${IFS}x)", false},
        {"-DX=`touch`", false},
        {"-DX=1;touch", false},
        {"-DX=\"a\"", false},
        {"-D -ccbin", false},
        {"-D\t-ccbin=x", false},
        {"-O2,-ccbin", false},
        {"-O -ccbin /tmp/script", false},
        {"-std=c++17;touch", false},
        {"-std c++17", false},
        {"-ccbin /tmp/script", false},
        {"-ccbin=/tmp/script", false},
        {"--compiler-bindir=/tmp", false},
        {"-Xcompiler=-B/tmp", false},
        {"-Xptxas=-v", false},
        {"-use_fast_math", false},
        {"-include /etc/passwd", false},
        {"-optf %s/o14.txt", false},
        {"@%s/o14.txt", false},
        {"--run", false},
        {"-ldir=/tmp", false},
        {"/tmp/other.cu", false},
        {"-DX\v-ccbin", false},
    };
    struct folder *folder = *state;
    struct capture capture;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char options[512];
        enum status status;

        snprintf(options, sizeof(options), rows[i].options ? rows[i].options : "", folder->path,
                 folder->path);
        capture_begin(&capture, stderr);
        status = kernel_document_options(rows[i].options ? options : NULL, folder->kernel);
        capture_end(&capture);
        if (status != (rows[i].used ? STATUS_OK : STATUS_USAGE))
            fail_msg("%s: %d", options, status);
        assert_int_equal(strstr(capture.text, "give all of them by --compiler-options") != NULL,
                         !rows[i].used);
    }
}
