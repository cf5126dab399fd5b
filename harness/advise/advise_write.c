/* SPDX-License-Identifier: MIT
 * The kernel file of advice: the lookups that were asked about, with a place for the user's
 * arithmetic. */
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "advise.h"
#include "cbank_case.h"
#include "files.h"
#include "kernel_file.h"
#include "log.h"
#include "parameter_index.h"
#include "source.h"
#include "text.h"

/* The body of index_at, for the sources that a kernel file can make. */
static const char *const formulas[SOURCE_COUNT] = {
    [SOURCE_random] = "    return (unsigned)(cbank::random_bits(1, at) % entry_count);\n",
    [SOURCE_sorted] = "    return (unsigned)((at % elements * entry_count + cbank::random_bits(1, "
                      "at) % entry_count) / elements);\n",
    [SOURCE_lockstep] = "    return (unsigned)(at / elements % entry_count);\n",
    [SOURCE_runs] = "    while (at % elements && cbank::random_bits(1, at) % run_threads)\n"
                    "        at--; // a run begins at one thread in so many\n"
                    "    return (unsigned)(cbank::random_bits(2, at) % entry_count);\n",
    [SOURCE_zipf] =
        "    // Entry k is read in proportion to 1 / (k + 1)^skew: rejection-inversion, by "
        "Hoermann and Derflinger (1996).\n"
        "    const double skew = skew_percent / 100.0;\n"
        "    const auto integral = [=](double x) { return skew == 1 ? log(x) : (pow(x, 1 - skew) - "
        "1) / (1 - skew); };\n"
        "    const double low = integral(1.5) - 1, high = integral(entry_count + 0.5);\n"
        "\n"
        "    for (cbank_u64 attempt = 0;; attempt++) {\n"
        "        const double u = low + (high - low) * (cbank::random_bits(attempt, at) >> 11) / "
        "9007199254740992.0;\n"
        "        const double x = skew == 1 ? exp(u) : pow(1 + u * (1 - skew), 1 / (1 - skew));\n"
        "        const double k = fmin(fmax(floor(x + 0.5), 1.0), (double)entry_count);\n"
        "\n"
        "        if (u >= integral(k + 0.5) - pow(k, -skew))\n"
        "            return (unsigned)k - 1;\n"
        "    }\n",
};

/* The kernel file to write. Tables are called a, b, c ... */
struct lookups {
    const struct advice *advice;
    const struct cell *cell;
    char path[PATH_MAX];      /* of the kernel file, to show it */
    const char *index;        /* the C++ type of an index */
    char indices[PATH_MAX];   /* their file; "": a source makes them */
    uint32_t tables, polluter_bytes;
};

/* Writes the loop over the lookups of element i. */
static void write_loop(FILE *stream, const struct lookups *lookups, bool pollutes)
{
    char load[32] = "load";

    fprintf(stream, "        for (unsigned load = 0; load < loads; load += %" PRIu32 ") {\n",
            lookups->tables);
    if (pollutes)
        fputs("            sum += other[(position += blockDim.x) % other_count];\n", stream);
    for (uint32_t i = 0; i < lookups->tables; i++) {
        if (lookups->tables > 1)
            snprintf(load, sizeof(load), "(load + %" PRIu32 ")", i);
        if (lookups->cell->parameters[PARAMETER_loads] % lookups->tables)
            fprintf(stream, "            if (load + %" PRIu32 " < loads)\n    ", i);
        fprintf(stream, "            sum = use(sum, %c[index[%s * elements + i]]);\n", 'a' + (int)i,
                load);
    }
    fputs("        }\n", stream);
}

/* What the file is for, and its numbers. */
static void write_head(FILE *stream, const struct lookups *lookups)
{
    const struct cell *cell = lookups->cell;
    const uint32_t *value = cell->parameters, width = table_width(value);

    fprintf(
        stream,
        "// Lookups as cbank advise was asked for them. The arithmetic of your kernel is missing, "
        "and it decides where the\n"
        "// table should live: put it where the comments say so, then measure every memory space:\n"
        "//\n"
        "//     cbank run --kernel %s\n"
        "//\n"
        "#include <cbank.cuh>\n\n"
        "constexpr unsigned entry_count = %" PRIu32 ", loads = %" PRIu32 ";\n",
        lookups->path, value[PARAMETER_table_bytes] / width, value[PARAMETER_loads]);
    for (size_t i = 0; i < parameter_count && !lookups->indices[0]; i++)
        if (cell->pattern->parameter_mask >> i & 1)
            fprintf(stream, "constexpr unsigned %s = %" PRIu32 ";\n", parameters[i].name, value[i]);
    if (lookups->polluter_bytes)
        fprintf(stream,
                "constexpr unsigned other_count = %" PRIu32
                "; // other data, which is streamed through L1\n",
                lookups->polluter_bytes / 4);
}

/* The memory space of the best path, as select of select_16. Not every one has room for several
 * tables. */
static const char *best_space(const struct lookups *lookups)
{
    const char *choice = lookups->tables == 1 ? lookups->advice->choice : NULL;
    const char *space = "global";

    for (size_t i = 0; choice && i < CBANK_SPACE_COUNT; i++)
        if (strncmp(choice, kernel_space_names[i], strlen(kernel_space_names[i])) == 0)
            space = kernel_space_names[i];
    return space;
}

/* The tables, the user's arithmetic, the indices. */
static void write_tables(FILE *stream, const struct lookups *lookups)
{
    static const char *const entries[] = {"unsigned char", "unsigned short", "unsigned", "uint2",
                                          "uint4"};
    static const char *const words[] = {"entry", "entry", "entry", "entry.x + entry.y",
                                        "entry.x + entry.y + entry.z + entry.w"};
    const struct cell *cell = lookups->cell;
    const unsigned width = (unsigned)__builtin_ctz(table_width(cell->parameters));
    const char *const entry = entries[width], *space = best_space(lookups);

    fputs("\n// The line to change: constant, global, readonly, shared ... shuffle needs a size "
          "that 32 divides.\n",
          stream);
    for (uint32_t i = 0; i < lookups->tables; i++)
        fprintf(stream, "CBANK_TABLE(table_%c, %s, entry_count, %s);\n", 'a' + (int)i, entry,
                space);
    fprintf(stream,
            "\n// Your arithmetic with an entry. The check calls it, too.\n"
            "static __host__ __device__ unsigned use(unsigned sum, %s entry)\n{\n    return sum + "
            "%s;\n}\n\n",
            entry, words[width]);
    if (!lookups->indices[0])
        fprintf(stream,
                "// The index of a lookup; at = load * elements + element. Source: %s.\n"
                "static __host__ __device__ unsigned index_at(cbank_u64 at, cbank_u64 "
                "elements)\n{\n%s}\n\n",
                cell->pattern->name, formulas[cell->pattern - sources]);
}

static void write_kernel(FILE *stream, const struct lookups *lookups)
{
    const uint32_t in_flight = lookups->cell->parameters[PARAMETER_in_flight];

    for (uint32_t i = 0; i < lookups->tables; i++)
        fprintf(stream, "%sclass Table_%c", i ? ", " : "template <", 'a' + (int)i);
    fputs(">\n__global__ void lookup(", stream);
    for (uint32_t i = 0; i < lookups->tables; i++)
        fprintf(stream, "%sTable_%c %c,", i ? " " : "", 'a' + (int)i, 'a' + (int)i);
    fprintf(stream,
            "\n                       %sconst %s *index, unsigned *out, unsigned elements)\n{\n",
            lookups->polluter_bytes ? "const unsigned *other, " : "", lookups->index);
    if (lookups->polluter_bytes)
        fputs("    unsigned position = blockIdx.x * blockDim.x + threadIdx.x;\n\n", stream);
    for (uint32_t i = 0; i < lookups->tables; i++)
        fprintf(stream, "    %c.stage(); // by all threads of the block\n", 'a' + (int)i);
    fprintf(stream,
            "    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < elements; i += "
            "gridDim.x * blockDim.x) {\n"
            "        unsigned sum = 0;\n\n"
            "        // The loads and the arithmetic of your kernel go here, and around the "
            "lookups. `index` stands for how it\n"
            "        // finds its entries. The compiler unrolls as many lookups as are in flight.\n"
            "#pragma unroll %" PRIu32 "\n",
            in_flight > lookups->tables ? in_flight / lookups->tables : 1);
    write_loop(stream, lookups, lookups->polluter_bytes > 0);
    fputs("        out[i] = sum;\n    }\n}\n\n", stream);
}

static enum status write_file(FILE *stream, const void *context)
{
    const struct lookups *lookups = context;
    const struct advice *advice = lookups->advice;
    const struct cell *cell = lookups->cell;
    const uint64_t taken = (uint64_t)cell->block_size * cell->parameters[PARAMETER_thread_elements];
    uint32_t blocks = 0;

    write_head(stream, lookups);
    write_tables(stream, lookups);
    write_kernel(stream, lookups);
    fprintf(stream,
            "CBANK_CASE(lookup, %" PRIu64 ")\n{\n    const cbank_u64 elements = size;\n"
            "    // The entries are random. Yours: entries<table_a>([](unsigned i) { ... }) or "
            "(npy{\"file.npy\"}).\n",
            cell->elements);
    for (uint32_t i = 0; i < lookups->tables; i++)
        fprintf(stream, "    const auto %c = entries<table_%c>();\n", 'a' + (int)i, 'a' + (int)i);
    fprintf(stream, "    const auto index = input<%s>(loads * elements, ", lookups->index);
    if (lookups->indices[0])
        fprintf(stream, "npy{\"%s\"});\n", lookups->indices);
    else
        fputs("[=](cbank_u64 at) { return index_at(at, elements); });\n", stream);
    if (lookups->polluter_bytes)
        fputs("    const auto other = input<unsigned>(other_count, zeros{});\n", stream);
    fputs("    const auto out = output<unsigned>(elements);\n\n    launch(lookup<", stream);
    for (uint32_t i = 0; i < lookups->tables; i++)
        fprintf(stream, "%stable_%c", i ? ", " : "", 'a' + (int)i);
    for (size_t i = 0; i < advice->count;
         i++) /* memory spaces that take no shared memory have most */
        blocks = advice->spaces[i].cell.grid_blocks > blocks ? advice->spaces[i].cell.grid_blocks
                                                             : blocks;
    if (taken)
        fprintf(stream, ">, (elements + %" PRIu64 ") / %" PRIu64, taken - 1, taken);
    else
        fprintf(stream, ">, %" PRIu32 " /* that the %s runs at a time */", blocks,
                advice->card.name);
    fprintf(stream, ", %" PRIu32 ", %" PRIu32 ")(\n        ", cell->block_size,
            cell->parameters[PARAMETER_extra_shared_bytes]);
    for (uint32_t i = 0; i < lookups->tables; i++)
        fprintf(stream, "%c, ", 'a' + (int)i);
    fprintf(stream,
            "%sindex, out, elements);\n"
            "    check(out, [=](cbank_u64 i) {\n        unsigned sum = 0;\n\n",
            lookups->polluter_bytes ? "other, " : "");
    write_loop(stream, lookups, false);
    fputs("        return sum;\n    });\n}\n", stream);
    return STATUS_OK;
}

enum status advise_write_check(const struct plan_options *options, const char *path)
{
    const struct pattern *source = options->sources.count ? options->sources.rows[0] : NULL;

    if (options->patterns.count || (source && !formulas[source - sources]))
        return log_error(STATUS_USAGE, "--write is for lookups; name --source random, zipf, "
                                       "sorted, runs or lockstep, or "
                                       "--indices");
    if (access(path, F_OK) == 0)
        return log_error(STATUS_USAGE,
                         "%s is there already and may have your changes; name a new file for "
                         "--write",
                         path);
    return STATUS_OK;
}

enum status advise_write(const struct advice *advice, const char *path)
{
    static const char *const types[][2] = {{"unsigned char", "signed char"},
                                           {"unsigned short", "short"},
                                           {"unsigned", "int"},
                                           {"unsigned long long", "long long"}};
    const struct cell *cell = &advice->spaces[0].cell;
    struct lookups lookups = {
        .advice = advice,
        .cell = cell,
        .index = types[__builtin_ctz(cell->indices->bytes)][cell->indices->is_signed != 0],
        .tables = table_count(cell->parameters),
        .polluter_bytes = cell->parameters[PARAMETER_polluter_bytes],
    };

    if (advice->indices_path &&
        (!realpath(advice->indices_path, lookups.indices) ||
         strlen(lookups.indices) >= CBANK_FILE_NAME_BYTES || strpbrk(lookups.indices, "\"\\\n")))
        return log_error(STATUS_USAGE,
                         "%s: a kernel file names files by %d bytes at most, without \" and \\",
                         advice->indices_path, CBANK_FILE_NAME_BYTES - 1);
    snprintf(lookups.path, sizeof(lookups.path), "%s", path);
    text_clean(lookups.path, sizeof(lookups.path));
    return file_write(path, write_file, &lookups);
}
