/* SPDX-License-Identifier: MIT
 * The files that NVRTC may read. It lists none, so that every file counts that a directive can
 * mean, whatever #if says. What this cannot tell is not followed, which is said. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "kernel_parts.h"

/* A scan: the files that are known, and the folders of options. */
struct scan {
    struct kernel_reads *reads;
    const struct texts *folders;
    const char *own; /* the folder of the headers of this program */
    struct texts *data; /* paths of .npy files that a text names; NULL: they are not wanted */
    bool out_of_memory;
};

/* -- lines ------------------------------------------------------------------------------------- */

/* Joins lines that a backslash continues. */
static void join_lines(char *text)
{
    char *to = text;

    for (const char *from = text; *from;) {
        const size_t blanks = *from == '\\' ? strspn(from + 1, " \t\r\f\v") : 0;

        if (*from == '\\' && from[1 + blanks] == '\n')
            from += 2 + blanks;
        else
            *to++ = *from++;
    }
    *to = '\0';
}

/* The end of a literal that begins at this quote. */
static char *skip_literal(char *quote)
{
    char *end = quote + 1;

    while (*end && *end != *quote && *end != '\n')
        end += *end == '\\' && end[1] && end[1] != '\n' ? 2 : 1;
    return *end == *quote ? end + 1 : end;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Whether an apostrophe separates digits: the word before it is a number. */
static bool separates_digits(const char *text, const char *quote)
{
    const char *word = quote;

    while (word > text && (is_digit(word[-1]) || (word[-1] >= 'a' && word[-1] <= 'z') ||
                           (word[-1] >= 'A' && word[-1] <= 'Z') || word[-1] == '\''))
        word--;
    return word < quote && is_digit(word[0]);
}

/* Replaces comments by blanks. */
static void blank_comments(char *text)
{
    for (char *place = text; *place;) {
        char *end = NULL;

        if (*place == '"' || (*place == '\'' && !separates_digits(text, place))) {
            place = skip_literal(place);
            continue;
        }
        if (place[0] == '/' && place[1] == '*') {
            end = strstr(place + 2, "*/");
            end = end ? end + 2 : place + strlen(place);
        } else if (place[0] == '/' && place[1] == '/') {
            end = place + strcspn(place, "\n");
        }
        if (end)
            memset(place, ' ', (size_t)(end - place));
        place = end ? end : place + 1;
    }
}

/* -- directives -------------------------------------------------------------------------------- */

static void add_source(struct scan *scan, const char *path);

static void add_named(struct scan *scan, const char *folder, int folder_bytes, const char *name)
{
    char file[3 * PATH_MAX];

    snprintf(file, sizeof(file), "%.*s%s%s", folder_bytes, folder,
             folder_bytes && folder[folder_bytes - 1] != '/' ? "/" : "", name);
    add_source(scan, file);
}

/* Follows a directive of a file, behind its '#'. */
static void follow(struct scan *scan, const char *path, const char *line)
{
    static const char *const names[] = {"include", "import", "embed", "include_next"};
    char word[32], name[PATH_MAX];
    bool reads = false;

    if (sscanf(line, " %31[a-z_]", word) != 1)
        return;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        reads = reads || strcmp(word, names[i]) == 0;
    if (!reads)
        return;
    if (sscanf(line, " %*31[a-z_] %*1[\"<]%4095[^\">]", name) != 1) {
        kernel_unfollowed(scan->reads, "NVRTC lists no files, and a macro names one in", path);
        return;
    }
    if (name[0] == '/') {
        add_named(scan, "", 0, name);
        return;
    }
    for (size_t i = 0; i < KERNEL_HEADERS; i++)
        if (strcmp(name, kernel_headers[i].name) == 0)
            add_named(scan, scan->own, (int)strlen(scan->own), name);
    add_named(scan, path, (int)(strrchr(path, '/') + 1 - path), name);
    for (size_t i = 0; i < scan->folders->count; i++)
        add_named(scan, scan->folders->items[i], (int)strlen(scan->folders->items[i]), name);
}

static void add_data(struct scan *scan, const char *text)
{
    const char *rest = text, *name;
    char path[PATH_MAX];
    size_t length;

    while (scan->data && (name = kernel_next_data(text, &rest, &length)))
        if (kernel_data_path(scan->reads->kernel, name, length, path) &&
            !texts_share(scan->data, path))
            scan->out_of_memory = true;
}

/* Adds a file that is there, and those that it includes. */
static void add_source(struct scan *scan, const char *path)
{
    /* raw literals may hold what looks like a comment, and the others ask what is there */
    static const char *const unclear[] = {"R\"", "__has_include", "__has_embed", "\?\?="};
    const size_t known = scan->reads->files.count + scan->reads->headers.count;
    size_t bytes;
    char *const text = kernel_read(path, &bytes), *rest = text;

    if (!text) {
        scan->out_of_memory = scan->out_of_memory || errno == ENOMEM;
        if (errno == EINVAL && !scan->reads->pipe[0])
            snprintf(scan->reads->pipe, PATH_MAX, "%s", path);
        return;
    }
    kernel_blank(text, bytes);
    add_data(scan, text);
    if (!kernel_reads_add(scan->reads, path, false))
        scan->out_of_memory = true;
    if (scan->reads->files.count + scan->reads->headers.count == known) {
        free(text);
        return;
    }
    for (size_t i = 0; i < sizeof(unclear) / sizeof(unclear[0]); i++)
        if (strstr(text, unclear[i]) && !kernel_is_header(text))
            kernel_unfollowed(scan->reads,
                              "NVRTC lists no files, and this may hide some:", unclear[i]);
    join_lines(text);
    blank_comments(text);
    for (char *line; (line = strsep(&rest, "\n"));) {
        line += strspn(line, " \t\r\f\v");
        if (line[0] == '#' || strncmp(line, "%:", 2) == 0)
            follow(scan, path, line + (line[0] == '#' ? 1 : 2));
    }
    free(text);
}

/* -- options ----------------------------------------------------------------------------------- */

/* Takes the folders of an option: whole, and as a list with commas. */
static bool take_folders(struct texts *folders, const char *value)
{
    char *const list = strdup(value), *rest = list;
    bool taken = list && texts_take(folders, strdup(value));

    for (char *part; taken && (part = strsep(&rest, ","));)
        taken = texts_take(folders, strdup(part));
    free(list);
    return taken;
}

/* Finds the folders of includes among the options. */
static bool read_folders(const struct texts *words, struct kernel_reads *reads,
                         struct texts *folders)
{
    static const char *const beginnings[] = {"-I=", "-I", "--include-path=", "-include-path="};
    static const char *const unclear[] = {"-i", "--i", "--pre-include", "-optf", "--options-file"};

    for (size_t i = 0; i < words->count; i++) {
        const char *const word = words->items[i], *value = NULL;

        for (size_t k = 0; !value && k < sizeof(beginnings) / sizeof(beginnings[0]); k++)
            if (strncmp(word, beginnings[k], strlen(beginnings[k])) == 0)
                value = word + strlen(beginnings[k]);
        if (value && !value[0])
            value = i + 1 < words->count ? words->items[++i] : value;
        if (value && !take_folders(folders, value))
            return false;
        for (size_t k = 0; !value && k < sizeof(unclear) / sizeof(unclear[0]); k++)
            if (strncmp(word, unclear[k], strlen(unclear[k])) == 0 || strchr(word, '@'))
                kernel_unfollowed(reads, "NVRTC lists no files, and they may come by the option",
                                  word);
    }
    return true;
}

bool kernel_reads_scan(struct kernel_reads *reads, const struct texts *words, const char *own)
{
    struct texts folders = {0};
    struct scan scan = {.reads = reads, .folders = &folders, .own = own};

    if (!read_folders(words, reads, &folders))
        scan.out_of_memory = true;
    else
        add_source(&scan, reads->kernel);
    texts_close(&folders);
    return !scan.out_of_memory;
}

/* -- before a compiler is known ---------------------------------------------------------------- */

/* Adds what the words name: files, and folders of includes. A word may have a name of an option
 * before it, and several with commas between. */
static bool add_named_words(const struct texts *words, struct texts *folders, struct texts *files)
{
    bool added = true;

    for (size_t i = 0; added && i < words->count; i++) {
        char *const copy = strdup(words->items[i]), *rest = copy;

        added = copy;
        for (char *part; added && (part = strsep(&rest, ",="));) {
            struct stat about;

            part += part[0] == '@' ? 1 : strncmp(part, "-I", 2) == 0 ? 2 : 0;
            if (stat(part, &about) == 0 && S_ISDIR(about.st_mode))
                added = texts_take(folders, strdup(part));
            else if (stat(part, &about) == 0 && S_ISREG(about.st_mode))
                added = texts_take(files, strdup(part));
        }
        free(copy);
    }
    return added;
}

bool kernel_file_reads(const char *path, const struct texts *words, struct texts *out)
{
    struct kernel_reads reads = {0};
    struct texts folders = {0};
    struct scan scan = {.reads = &reads, .folders = &folders, .own = ".", .data = out};
    const size_t first = out->count;
    char kernel[PATH_MAX];
    const struct texts *const found[] = {&reads.files, &reads.headers};

    if (snprintf(kernel, sizeof(kernel), "%s%s", path[0] == '/' ? "" : "./", path) >= PATH_MAX)
        return true; /* it is refused when it is opened */
    reads.kernel = kernel;
    scan.out_of_memory = !add_named_words(words, &folders, out);
    add_source(&scan, kernel);
    /* The compiler is told to include files, too. */
    for (size_t i = first, count = out->count; i < count; i++)
        add_source(&scan, out->items[i]);
    for (size_t k = 0; k < sizeof(found) / sizeof(found[0]); k++)
        for (size_t i = 0; !scan.out_of_memory && i < found[k]->count; i++)
            scan.out_of_memory = !texts_share(out, found[k]->items[i]);
    texts_close(&folders);
    kernel_reads_close(&reads);
    return !scan.out_of_memory;
}
