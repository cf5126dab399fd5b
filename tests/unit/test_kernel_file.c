/* SPDX-License-Identifier: MIT
 * Tests of kernel files. The script nvcc.sh stands in for nvcc: it copies a cubin that the test has
 * written. Two tests use the compilers of a CUDA toolkit where there is one. */
#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture.h"
#include "child.h"
#include "kernel_elf.h"
#include "kernel_parts.h"
#include "kernel_reference.h"
#include "size.h"
#include "test.h"

/* -- a folder with a stand-in for nvcc --------------------------------------------------------- */

struct folder {
    char path[64], compiler[96], cubin[96], runs[96], kernel[96], cache[96], header[96];
    struct elf_file elf;
};

static void put_text(const char *path, const char *text)
{
    file_put(path, text, strlen(text));
}

static int open_folder(void **state)
{
    struct folder *folder = calloc(1, sizeof(*folder));
    char *script = file_text("tests/unit/nvcc.sh");

    assert_non_null(script); /* tests run in the root of the repository */
    strcpy(folder->path, "/tmp/cbank-test-XXXXXX");
    assert_non_null(mkdtemp(folder->path));
    snprintf(folder->compiler, sizeof(folder->compiler), "%s/nvcc", folder->path);
    snprintf(folder->cubin, sizeof(folder->cubin), "%s/cubin", folder->path);
    snprintf(folder->runs, sizeof(folder->runs), "%s/runs", folder->path);
    snprintf(folder->kernel, sizeof(folder->kernel), "%s/kernel.cu", folder->path);
    snprintf(folder->cache, sizeof(folder->cache), "%s/cache/cbank", folder->path);
    snprintf(folder->header, sizeof(folder->header), "%s/grid.h", folder->path);
    put_text(folder->compiler, script);
    free(script);
    chmod(folder->compiler, 0700);
    put_text(folder->kernel, "#include <cbank.cuh>\n # include \"grid.h\"\nkernel\n");
    put_text(folder->header, "1, 2, 3\n");
    make_elf(&folder->elf);
    file_put(folder->cubin, (char *)&folder->elf, sizeof(folder->elf));
    setenv("CBANK_CACHE", folder->cache, 1);
    setenv("TMPDIR", folder->path, 1);
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
    unsetenv("TMPDIR");
    nftw(folder->path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(folder);
    return 0;
}

/* How often the compiler ran since the last call. */
static size_t runs(const struct folder *folder)
{
    char *text = file_text(folder->runs);
    size_t count = 0;

    for (const char *place = text; place && *place; place++)
        count += *place == '\n';
    free(text);
    unlink(folder->runs);
    return count;
}

static struct kernel_request request_of(const struct folder *folder)
{
    return (struct kernel_request){.path = folder->kernel,
                                   .compiler = folder->compiler,
                                   .architecture = 90};
}

/* Opens and closes a file. Returns its hash; `cached`: of all builds. */
static uint64_t open_once(const struct kernel_request *request, bool cached)
{
    struct kernel_file file;
    uint64_t hash;

    assert_int_equal(kernel_file_open(request, &file), STATUS_OK);
    hash = file.builds[0].kernel.hash;
    for (size_t i = 0; i < file.build_count; i++) {
        assert_int_equal(file.builds[i].cached, cached);
        assert_true(file.builds[i].kernel.hash == hash);
    }
    kernel_file_close(&file);
    return hash;
}

/* Opens a file that cannot be. */
static void expect_refused(const struct kernel_request *request, enum status status,
                           const char *message)
{
    struct capture capture;
    struct kernel_file file;
    enum status got;

    capture_begin(&capture, stderr);
    got = kernel_file_open(request, &file);
    capture_end(&capture);
    assert_int_equal(got, status);
    assert_null(file.builds);
    if (!strstr(capture.text, message))
        print_error("%s\n", capture.text);
    assert_non_null(strstr(capture.text, message));
}

/* -- builds ------------------------------------------------------------------------------------ */

TEST_WITH(a_file_is_built_for_each_memory_space_and_as_it_is_written, open_folder, close_folder)
{
    const struct folder *folder = *state;
    const struct kernel_request request = request_of(folder);
    char reason[KERNEL_REASON_BYTES];
    struct kernel_file file;

    assert_int_equal(kernel_file_open(&request, &file), STATUS_OK);
    assert_string_equal(file.info.name, "blend");
    assert_string_equal(file.compiler, "nvcc 13.0.88");
    assert_int_equal(file.table_count, 2);
    assert_string_equal(file.tables[0].name, "grid"); /* in the order of lines */
    assert_int_equal(file.build_count, CBANK_SPACE_COUNT + 1);
    for (size_t i = 0; i < file.build_count; i++) {
        const struct kernel_build *build = &file.builds[i];

        assert_string_equal(build->kernel.name, "blend");
        assert_string_equal(build->file->path, folder->kernel);
        assert_int_equal(build->as_written, i == CBANK_SPACE_COUNT);
        assert_string_equal(build->kernel.spaces, build->as_written ? "grid=global+signs=constant"
                                                                    : kernel_space_names[i]);
        assert_string_equal(build->reason, i == CBANK_SPACE_PRMT ? "it is too large" : "");
        assert_int_equal(build->cubin != NULL, i != CBANK_SPACE_PRMT);
        if (!build->cubin)
            continue;
        assert_int_equal(build->cubin_bytes, sizeof(folder->elf));
        assert_string_equal(kernel_symbol(build, reason), "_ZN5outer5blendIN5cbank5tableEEEvT_");
        assert_string_equal(kernel_constant_symbol(build, "grid"), "entries14cbank_tag_gridE");
        assert_null(kernel_constant_symbol(build, "signs"));
    }
    assert_int_equal(runs(folder), CBANK_SPACE_COUNT + 1);
    kernel_file_close(&file);
}

TEST_WITH(builds_come_from_the_cache_until_what_they_are_made_of_changes, open_folder, close_folder)
{
    struct folder *folder = *state;
    struct kernel_request request = request_of(folder);
    char command[512], *text;
    uint64_t hash, changed;

    request.spaces = "written,shared,prmt";
    hash = open_once(&request, false);
    assert_int_equal(runs(folder), 3);
    assert_true(open_once(&request, true) == hash);
    assert_int_equal(runs(folder), 0);
    /* a file that it includes, an option, the architecture, the compiler */
    put_text(folder->header, "1, 2, 4\n");
    changed = open_once(&request, false);
    assert_true(changed != hash);
    request.options = "-use_fast_math";
    assert_true(open_once(&request, false) != changed);
    request.architecture = 75;
    open_once(&request, false);
    text = file_text(folder->compiler);
    strstr(text, "13.0.88")[6] = '9';
    put_text(folder->compiler, text);
    free(text);
    put_text(folder->header, "1, 2, 3\n");
    request.options = NULL;
    assert_true(open_once(&request, false) == hash);
    assert_int_equal(runs(folder), 12);
    /* damage */
    snprintf(command, sizeof(command),
             "for f in %s/*; do printf x | dd of=$f bs=1 seek=200 conv=notrunc 2>&1; done >%s/dd",
             folder->cache, folder->path);
    assert_int_equal(system(command), 0);
    assert_true(open_once(&request, false) == hash);
    assert_true(open_once(&request, true) == hash);
    /* a file whose includes may differ between memory spaces */
    assert_int_equal(runs(folder), 3);
    put_text(folder->kernel, "#ifdef CBANK_SPACE_grid\n");
    open_once(&request, false);
    open_once(&request, false);
    assert_int_equal(runs(folder), 6);
}

TEST_WITH(copies_in_two_folders_have_one_hash, open_folder, close_folder)
{
    struct folder *folder = *state;
    struct kernel_request request = request_of(folder);
    char command[512], there[128], options[128];
    uint64_t hash;

    request.spaces = "written";
    hash = open_once(&request, false);
    snprintf(command, sizeof(command), "mkdir -p %s/a/include && cp %s %s/a && cp %s %s/a/include",
             folder->path, folder->kernel, folder->path, folder->header, folder->path);
    assert_int_equal(system(command), 0);
    snprintf(there, sizeof(there), "%s/a/kernel.cu", folder->path);
    snprintf(options, sizeof(options), "-I %s/a/include", folder->path);
    request.path = there;
    assert_true(open_once(&request, false) != hash); /* without the file that it includes */
    request.options = options;
    assert_true(open_once(&request, false) == hash);
}

TEST_WITH(without_a_folder_for_the_cache_there_is_a_note, open_folder, close_folder)
{
    struct folder *folder = *state;
    struct kernel_request request = request_of(folder);
    struct capture capture;

    request.spaces = "written";
    setenv("CBANK_CACHE", "/dev/null/cache", 1);
    capture_begin(&capture, stderr);
    open_once(&request, false);
    open_once(&request, false);
    capture_end(&capture);
    assert_non_null(strstr(capture.text, "no cache: /dev/null/cache: Not a directory"));
    assert_int_equal(runs(folder), 2);
}

/* Compiles once more: the cache has the file, and is not asked. */
static void expect_untrusted(const struct kernel_request *request, const char *message)
{
    struct capture capture;

    capture_begin(&capture, stderr);
    open_once(request, false);
    capture_end(&capture);
    if (!strstr(capture.text, message))
        print_error("%s\n", capture.text);
    assert_non_null(strstr(capture.text, "no cache: "));
    assert_non_null(strstr(capture.text, message));
}

TEST_WITH(a_cache_that_others_can_change_is_not_trusted, open_folder, close_folder)
{
    struct folder *folder = *state;
    struct kernel_request request = request_of(folder);
    char above[sizeof(folder->cache)], link[sizeof(folder->cache) + 8], back[PATH_MAX];

    request.spaces = "written";
    open_once(&request, false);
    open_once(&request, true);
    snprintf(above, sizeof(above), "%s", folder->cache);
    *strrchr(above, '/') = '\0';
    for (size_t i = 0; i < 2; i++) {
        const char *const path = i == 0 ? folder->cache : above;
        static const mode_t modes[] = {0770, 0702};

        for (size_t k = 0; k < 2; k++) {
            chmod(path, modes[k]);
            expect_untrusted(&request, "others may write to ");
        }
        chmod(path, 0700);
        /* a sticky folder of root's may lead to it, but is none */
        if (geteuid() != 0)
            continue;
        chmod(path, 01777);
        if (i == 0)
            expect_untrusted(&request, "others may write to ");
        else
            open_once(&request, true);
        chmod(path, 0700);
        assert_int_equal(chown(path, 12345, (gid_t)-1), 0);
        expect_untrusted(&request, "belongs to the user 12345");
        assert_int_equal(chown(path, 0, (gid_t)-1), 0);
    }
    open_once(&request, true);
    /* The folder is no link; a link of one's own may lead to it. */
    snprintf(link, sizeof(link), "%s.link", folder->cache);
    assert_int_equal(symlink(folder->cache, link), 0);
    setenv("CBANK_CACHE", link, 1);
    expect_untrusted(&request, "is a link");
    unlink(link);
    assert_int_equal(symlink(above, link), 0);
    snprintf(back, sizeof(back), "%s/./%s", link, strrchr(folder->cache, '/') + 1);
    setenv("CBANK_CACHE", back, 1);
    open_once(&request, true);
    chmod(above, 0777);
    expect_untrusted(&request, "others may write to ");
    chmod(above, 0700);
    snprintf(back, sizeof(back), "%s/../cache/%s", link, strrchr(folder->cache, '/') + 1);
    setenv("CBANK_CACHE", back, 1);
    open_once(&request, true);
    if (geteuid() == 0) {
        assert_int_equal(lchown(link, 12345, (gid_t)-1), 0);
        expect_untrusted(&request, "belongs to the user 12345");
    }
}

TEST_WITH(no_kernel_is_compiled_where_others_can_change_it, open_folder, close_folder)
{
    struct folder *folder = *state;
    const struct kernel_request request = request_of(folder);

    chmod(folder->path, 0777);
    expect_refused(&request, STATUS_ENVIRONMENT, "others may write to ");
    chmod(folder->path, 0700);
}

TEST_WITH(a_file_in_the_cache_that_others_can_change_is_not_taken, open_folder, close_folder)
{
    struct folder *folder = *state;
    struct kernel_request request = request_of(folder);
    char path[PATH_MAX], kept[PATH_MAX];
    struct dirent **entries = NULL;
    int count;

    request.spaces = "written";
    open_once(&request, false);
    count = scandir(folder->cache, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        if (entries[i]->d_name[0] != '.') {
            snprintf(path, sizeof(path), "%s/%s", folder->cache, entries[i]->d_name);
            assert_int_equal(chmod(path, 0620), 0);
        }
    }
    open_once(&request, false); /* which replaces them */
    open_once(&request, true);
    for (int i = 0; i < count; i++) {
        if (entries[i]->d_name[0] != '.') {
            snprintf(path, sizeof(path), "%s/%s", folder->cache, entries[i]->d_name);
            snprintf(kept, sizeof(kept), "%s/%s", folder->path, entries[i]->d_name);
            assert_int_equal(rename(path, kept), 0);
            assert_int_equal(symlink(kept, path), 0);
        }
        free(entries[i]);
    }
    free(entries);
    open_once(&request, false);
    open_once(&request, true);
}

TEST_WITH(a_pipe_that_is_included_is_refused_without_a_wait, open_folder, close_folder)
{
    struct folder *folder = *state;
    const struct kernel_request request = request_of(folder);

    unlink(folder->header);
    assert_int_equal(mkfifo(folder->header, 0600), 0);
    expect_refused(&request, STATUS_USAGE, "grid.h, which ");
    assert_int_equal(runs(folder), 0);
    unlink(folder->kernel);
    assert_int_equal(mkfifo(folder->kernel, 0600), 0);
    expect_refused(&request, STATUS_USAGE, "it is a pipe, not a file");
}

TEST_WITH(processes_that_compile_one_file_at_a_time_do_not_disturb_each_other, open_folder,
          close_folder)
{
    struct folder *folder = *state;
    struct kernel_request request = request_of(folder);
    int code;

    request.spaces = "shared,global,prmt";
    for (int i = 0; i < 4; i++)
        if (fork() == 0) {
            struct kernel_file file;

            _exit(kernel_file_open(&request, &file));
        }
    for (int i = 0; i < 4; i++) {
        assert_true(wait(&code) > 0);
        assert_int_equal(code, 0);
    }
    runs(folder);
    open_once(&request, true);
    assert_int_equal(runs(folder), 0);
}

TEST_WITH(a_signal_ends_compilers_and_removes_their_files, open_folder, close_folder)
{
    struct folder *folder = *state;
    struct kernel_request request = request_of(folder);
    char sleeper[96], command[320], *text;
    int code;
    pid_t child;

    snprintf(sleeper, sizeof(sleeper), "%s/sleeper", folder->path);
    put_text(folder->kernel, "SLEEP\n");
    child = fork();
    if (child == 0) {
        struct kernel_file file;

        interrupt_catch();
        _exit(kernel_file_open(&request, &file) == STATUS_ENVIRONMENT && interrupted() ? 0 : 1);
    }
    while (!(text = file_text(sleeper)) || !strchr(text, '\n')) {
        free(text);
        assert_int_equal(waitpid(child, &code, WNOHANG), 0); /* it has not ended */
        usleep(10000);
    }
    kill(child, SIGTERM);
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_int_equal(code, 0);
    /* The sleeper was killed: it is gone, or nobody has waited for it yet. The system may take a
     * moment to end it; of itself it ends after a minute. */
    snprintf(command, sizeof(command),
             "for i in $(seq 1000); do grep -q 'State:.[RS]' /proc/%d/status 2>%s/no || exit 0; "
             "sleep 0.01; done; exit 1",
             atoi(text), folder->path);
    free(text);
    assert_int_equal(system(command), 0);
    snprintf(command, sizeof(command), "! ls -d %s/cbank-* 2>%s/no", folder->path, folder->path);
    assert_int_equal(system(command), 0);
}

/* -- refusals ---------------------------------------------------------------------------------- */

TEST_WITH(files_that_cannot_be_compiled_are_refused, open_folder, close_folder)
{
    struct folder *folder = *state;
    struct kernel_request request = request_of(folder);
    char message[128];

    snprintf(message, sizeof(message), "%s(4): error: expected a ;", folder->kernel);
    put_text(folder->kernel, message);
    expect_refused(&request, STATUS_USAGE, message);
    expect_refused(&request, STATUS_USAGE, "error: kernel.cu:4: expected a ;\n");
    put_text(folder->kernel, "k.cu(3): error: static assertion failed with \"cbank: too large\"\n");
    expect_refused(&request, STATUS_USAGE,
                   "as they are written: too large; write another memory space");
    put_text(folder->kernel, "BROKEN\n");
    expect_refused(&request, STATUS_USAGE, "kernel.cu(9): error: identifier is undefined");
    expect_refused(&request, STATUS_USAGE,
                   "error: kernel.cu:9: identifier is undefined (with its tables in select)\n");
    put_text(folder->kernel, "nvcc fatal   : Unsupported gpu architecture 'compute_90'\n");
    expect_refused(&request, STATUS_ENVIRONMENT, "nvcc 13.0.88 cannot compile for sm_90");
    put_text(folder->kernel, "nvcc fatal   : Value 'c++99' is not defined for option 'std'\n");
    expect_refused(&request, STATUS_USAGE, "as they are written, see above");
    request.path = "/tmp/no such file.cu";
    expect_refused(&request, STATUS_USAGE,
                   "cannot read /tmp/no such file.cu: No such file or directory");
    request.path = "/tmp/a\"b.cu";
    expect_refused(&request, STATUS_USAGE, "#include takes no path with a quote");
    request.path = folder->kernel;
    request.compiler = "/no/nvcc";
    expect_refused(&request, STATUS_ENVIRONMENT,
                   "cannot run /no/nvcc, or it is no nvcc; name an nvcc, or nvrtc");
}

TEST_WITH(memory_spaces_and_tables_that_are_unknown_are_refused, open_folder, close_folder)
{
    struct folder *folder = *state;
    struct kernel_request request = request_of(folder);

    request.spaces = "shard";
    expect_refused(&request, STATUS_USAGE, "unknown memory space 'shard'; valid: constant, global");
    request.spaces = "shared,signs=";
    expect_refused(&request, STATUS_USAGE, "unknown memory space ''; valid: ");
    request.spaces = "grid2=shared";
    expect_refused(&request, STATUS_USAGE, "kernel.cu: unknown table 'grid2'; valid: grid, signs");
}

TEST_WITH(cubins_without_a_case_or_of_another_version_are_refused, open_folder, close_folder)
{
    struct folder *folder = *state;
    struct kernel_request request = request_of(folder);
    struct cbank_case_info info = a_case;
    struct elf_file *elf = &folder->elf;

    setenv("CBANK_CACHE", "/dev/null/cache", 1);
    begin_elf(elf, "blend");
    end_elf(elf);
    file_put(folder->cubin, (char *)elf, sizeof(*elf));
    expect_refused(&request, STATUS_USAGE, "kernel.cu: no CBANK_CASE(kernel, sizes ...)");
    begin_elf(elf, "blend");
    put_variable(elf, "cbank_case_info", &a_case, sizeof(a_case));
    end_elf(elf);
    file_put(folder->cubin, (char *)elf, sizeof(*elf));
    expect_refused(&request, STATUS_USAGE, "kernel.cu:7: the file has no CBANK_TABLE");
    begin_elf(elf, "blend");
    info.version = 99;
    put_variable(elf, "cbank_case_info", &info, sizeof(info));
    end_elf(elf);
    file_put(folder->cubin, (char *)elf, sizeof(*elf));
    expect_refused(&request, STATUS_USAGE,
                   "a cbank.cuh of version 99, and this program has version 3; remove the copy");
    file_put(folder->cubin, (char *)elf, 100);
    expect_refused(&request, STATUS_USAGE, "the compiler made no cubin of it");
}

/* -- parts ------------------------------------------------------------------------------------- */

TEST(choices_are_each_made_once_and_named_by_their_tables)
{
    static const struct {
        const char *text, *spaces[4];
    } rows[] = {
        {"shared", {"shared"}},
        {"shared,grid=shared+signs=shared,shared", {"shared"}},
        {"grid=param", {"grid=param+signs=constant"}},
        {"shared+grid=param", {"grid=param+signs=shared"}},
        {"written,texture", {"grid=global+signs=constant", "texture"}},
        {"grid=global", {"grid=global+signs=constant"}},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct kernel_file file = {.path = "k.cu",
                                   .info = a_case,
                                   .table_count = 2,
                                   .tables = {{.name = "grid", .written = CBANK_SPACE_GLOBAL},
                                              {.name = "signs", .written = CBANK_SPACE_CONSTANT}}};
        size_t count = 0;

        assert_int_equal(kernel_choices_read(rows[i].text, &file), STATUS_OK);
        for (; rows[i].spaces[count]; count++)
            assert_string_equal(file.builds[count].kernel.spaces, rows[i].spaces[count]);
        assert_int_equal(file.build_count, count);
        kernel_file_close(&file);
    }
}

TEST(reasons_are_found_in_the_messages_of_every_compiler)
{
    static const struct {
        const char *messages, *reason;
    } rows[] = {
        {"k.cu(4): warning: x\ncbank.cuh(98): error: static assertion failed with \"cbank: too "
         "large\"\n  more\n",
         "too large"},
        {"cbank.cuh:98:5: error: static assertion failed: cbank: too large", "too large"},
        {"cbank.cuh:98:5: error: static assertion failed due to requirement 'n < 3': cbank: too "
         "large\n",
         "too large"},
        {"cbank.cuh:98:5: error: static_assert failed due to requirement 'n < 3' \"cbank: too "
         "large\"\n",
         "too large"},
        {"ptxas error   : File uses too much global constant data (0x10001 bytes, 0x10000 max)\n",
         "constant memory has 65536 bytes, and what lies there has 65537 with the gaps between "
         "tables"},
        {"ptxas error   : Entry function 'k' uses too much shared data (0x18000 bytes, 0xc000 "
         "max)\n",
         "Entry function 'k' uses too much shared data (0x18000 bytes, 0xc000 max)"},
        {"k.cu(3): error: static assertion failed with \"my own\"\n", NULL},
        {"/home/cbank: x/k.cu(3): error: expected a ;\n", NULL},
        {"ptxas fatal   : Unresolved extern function 'f'\n", NULL},
        {"", NULL},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char reason[KERNEL_REASON_BYTES] = "";

        assert_int_equal(kernel_reason(rows[i].messages, reason), rows[i].reason != NULL);
        assert_string_equal(reason, rows[i].reason ? rows[i].reason : "");
    }
}

TEST(the_kernel_is_the_only_one_or_the_one_of_the_name)
{
    static const struct {
        const char *symbols[3], *found;
    } rows[] = {
        {{"_Z5otherPi"}, "_Z5otherPi"},
        {{"_Z5otherPi", "_Z5blendPi"}, "_Z5blendPi"},
        {{"other", "blend"}, "blend"},
        {{"_ZN5blend5otherEPi", "_ZN5blend5blendEPi"}, "_ZN5blend5blendEPi"},
        {{"_Z5otherPi", "_ZN38_INTERNAL_00000000_4_k_cu_12345678_1235blendEPi", "_Z6blend2Pi"},
         "_ZN38_INTERNAL_00000000_4_k_cu_12345678_1235blendEPi"},
        {{"_Z5blendPi", "_Z5blendPf"}, NULL},
        {{"_Z5otherPi", "_Z99999999999999999999blend"}, NULL},
        {{NULL}, NULL},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char reason[KERNEL_REASON_BYTES] = "";
        struct elf_file elf = {.string_bytes = 1, .symbol_count = 1};
        const struct kernel_build build = {.kernel = {.name = "blend"},
                                           .cubin = &elf,
                                           .cubin_bytes = sizeof(elf)};
        const char *found;

        put_symbol(&elf, "cbank_case_call", STT_FUNC, TEXT_B, 0, sizeof(elf.code));
        for (size_t k = 0; k < 3 && rows[i].symbols[k]; k++)
            put_symbol(&elf, rows[i].symbols[k], STT_FUNC, TEXT_A, 0, sizeof(elf.code));
        end_elf(&elf);
        found = kernel_symbol(&build, reason);
        assert_string_equal(found ? found : "none", rows[i].found ? rows[i].found : "none");
        assert_int_equal(reason[0] != '\0', found == NULL);
    }
}

/* With the sanitizers, this reads nothing outside of the file. */
TEST(damaged_cubins_are_read_or_refused)
{
    struct capture capture;
    struct elf_file elf;
    uint64_t state_of = 1;

    make_elf(&elf);
    for (size_t i = 0; i < repetitions(20000, 1000); i++) {
        unsigned char *copy = malloc(sizeof(elf));
        struct kernel_file file = {.path = "k.cu"};
        struct kernel_build build = {.kernel = {.name = "blend"},
                                     .cubin = copy,
                                     .cubin_bytes = sizeof(elf)};
        char reason[KERNEL_REASON_BYTES];

        memcpy(copy, &elf, sizeof(elf));
        for (int k = 0; k < 3; k++) {
            state_of = state_of * 6364136223846793005u + 1442695040888963407u;
            copy[(state_of >> 33) %
                 (offsetof(struct elf_file, code) + (k == 2 ? SECTION_BYTES : 0))] =
                (unsigned char)(state_of >> 20);
        }
        capture_begin(&capture, stderr);
        if (kernel_info_read(copy, sizeof(elf), &file) == STATUS_OK) {
            assert_int_equal(kernel_choices_read("all", &file), STATUS_OK);
            kernel_file_close(&file);
        }
        capture_end(&capture);
        kernel_symbol(&build, reason);
        kernel_constant_symbol(&build, "grid");
        free(copy);
    }
}

/* -- compilers --------------------------------------------------------------------------------- */

/* The expected output of the example, from a build for the processor. Texts of 64 bytes of 0 have
 * one CRC-32. */
static void expect_reference(const struct kernel_file *file)
{
    enum { RECORDS = 1000 };
    static const unsigned char text[64 * RECORDS];
    struct cbank_request request = {.call = CBANK_CALL_EXPECT,
                                    .number = 1,
                                    .size = RECORDS,
                                    .buffers = {(void *)(uintptr_t)text}};
    uint32_t expected[RECORDS] = {0};
    char reason[KERNEL_REASON_BYTES];

    assert_true(kernel_reference_run(file, &request, RECORDS, expected, sizeof(expected), reason));
    for (size_t i = 0; i < RECORDS; i++)
        assert_int_equal(expected[i], 0x758D6336);
    request.buffers[0] = NULL;
    assert_false(kernel_reference_run(file, &request, RECORDS, expected, sizeof(expected), reason));
    assert_string_equal(reason, "Segmentation fault");
}

static void expect_compiled(const char *compiler, const char *version, bool reference)
{
    const struct kernel_request request = {.path = "examples/crc32.cu",
                                           .spaces = "written,shuffle",
                                           .compiler = compiler,
                                           .architecture = 90};
    char reason[KERNEL_REASON_BYTES];
    struct kernel_file file;

    assert_int_equal(kernel_file_open(&request, &file), STATUS_OK);
    assert_true(strncmp(file.compiler, version, strlen(version)) == 0);
    assert_string_equal(file.info.name, "crc32");
    assert_string_equal(file.builds[0].kernel.spaces, "constant");
    assert_true(strncmp(kernel_symbol(&file.builds[0], reason), "_Z5crc32I", 9) == 0);
    assert_non_null(strstr(kernel_constant_symbol(&file.builds[0], "remainders"), "remainders"));
    assert_null(file.builds[1].cubin);
    assert_non_null(strstr(file.builds[1].reason, "32 entries"));
    assert_int_equal(file.reference != NULL, reference);
    if (reference)
        expect_reference(&file);
    kernel_file_close(&file);
}

TEST_WITH(nvcc_compiles_an_example, open_folder, close_folder)
{
    if (access("/usr/local/cuda/bin/nvcc", X_OK) != 0 || access("examples/crc32.cu", R_OK) != 0)
        skip();
    expect_compiled("/usr/local/cuda/bin/nvcc", "nvcc ", true);
}

TEST_WITH(nvrtc_compiles_an_example, open_folder, close_folder)
{
    struct kernel_compiler found = {0};

    if (!kernel_nvrtc_open(&found) || access("examples/crc32.cu", R_OK) != 0)
        skip();
    expect_compiled("nvrtc", "nvrtc ", false);
}
