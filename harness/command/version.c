/* SPDX-License-Identifier: MIT */
#include "version.h"

#include <stddef.h>

#ifndef CBANK_VERSION
#define CBANK_VERSION "0.1.0"
#endif
#ifndef CBANK_GIT_COMMIT
#define CBANK_GIT_COMMIT "unknown"
#endif
#ifndef CBANK_GIT_DIRTY
#define CBANK_GIT_DIRTY 0
#endif
#ifndef CBANK_CUDA_TOOLKIT
#define CBANK_CUDA_TOOLKIT ""
#endif

#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

/* 'u' is the first letter of "unknown" and of no commit, which is hexadecimal. */
const struct tool tool = {
    .name = "cbank",
    .version = CBANK_VERSION,
    .git_commit = CBANK_GIT_COMMIT[0] == 'u' ? NULL : CBANK_GIT_COMMIT,
    .git_dirty = CBANK_GIT_DIRTY,
    .compiler = COMPILER,
    .cuda_toolkit = sizeof(CBANK_CUDA_TOOLKIT) > 1 ? CBANK_CUDA_TOOLKIT : NULL,
};

static void write_tool(cJSON *object, const struct field *field, const void *base)
{
    cJSON *made = json_add(object, field->key, cJSON_CreateObject());

    json_add_text(made, "name", tool.name);
    json_add_text(made, "version", tool.version);
    json_add_text(made, "git_commit", tool.git_commit);
    json_add(made, "git_dirty", cJSON_CreateBool(tool.git_dirty));
    json_add_text(made, "compiler", tool.compiler);
    json_add_text(made, "cuda_toolkit", tool.cuda_toolkit);
    if (field->bytes > 0)
        json_add_text(made, "argv", (const char *)base + field->offset);
}

static void read_tool(const struct node *node, const struct field *field, void *base)
{
    const struct node made = node_object(node, field->key);
    const struct field argv = {
        .key = "argv", .kind = &field_text, .presence = REQUIRED, .offset = field->offset, .bytes = field->bytes};

    node_text(&made, "name", true);
    node_text(&made, "version", true);
    if (field->bytes > 0 && !node_failed(node))
        field_text.read(&made, &argv, base);
}

const struct field_kind field_tool = {write_tool, read_tool};
