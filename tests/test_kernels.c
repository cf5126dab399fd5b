/* SPDX-License-Identifier: MIT
 * The loads of every kernel of every architecture in this program, as the harness itself reads them from the
 * images: what `make check-sass` checks with NVIDIA's disassembler, here on any machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cell.h"
#include "image.h"

/* False when the kernel is not straight-line code, which nvcc makes for sm_87 alone (it begins with a branch):
 * then there is nothing to count here. */
static bool check_kernel(const struct image *image, const struct cell *cell)
{
    const uint32_t steps = cell->workload->steps;
    const bool constant = cell->path->unit == UNIT_IDC;
    struct kernel_sass kernel;

    if (!image_kernel(image->data, image->bytes, cell, &kernel))
        fail_msg("%.*s has no kernel %s %s %s", (int)image->name_bytes, image->name, cell->workload->name,
                 cell->path->name, cell->pattern->name);

    assert_int_equal(strlen(kernel.sha256), SASS_HASH_HEX_BYTES - 1);
    if (!kernel.counted)
        return false;

    const struct sass_stretch *prologue = &kernel.counts.prologue, *body = &kernel.counts.body;

    if (prologue->ldc_user != 0 || prologue->ldg != 0 ||
        body->ldc_user != (constant ? steps : 0) || body->ldg != (constant ? 1 : 1 + steps))
        fail_msg("%.*s %s: prologue %u LDC %u LDG, body %u LDC %u LDG", (int)image->name_bytes,
                 image->name, kernel.symbol, (unsigned)prologue->ldc_user, (unsigned)prologue->ldg,
                 (unsigned)body->ldc_user, (unsigned)body->ldg);
    return true;
}

/* How many kernels of the image were checked. */
static size_t check_image(const struct image *image)
{
    size_t checked = 0;

    for (size_t w = 0; w < workload_count; w++)
        for (size_t a = 0; a < path_count; a++)
            for (size_t p = 0; p < pattern_count; p++)
                checked += check_kernel(image, &(struct cell){.workload = &workloads[w], .path = &paths[a],
                                                              .pattern = &patterns[p], .elements = 1024,
                                                              .block_size = 1024, .regime = &regimes[0]});
    return checked;
}

static void every_kernel_loads_what_its_path_names(void **state)
{
    static const char start[] = "kernels.sm_";
    struct image image;
    const size_t kernels = workload_count * path_count * pattern_count;
    bool any = false;

    (void)state;
    for (size_t i = 0; image_at(i, &image); i++)
        if (image.name_bytes > strlen(start) && memcmp(image.name, start, strlen(start)) == 0) {
            const size_t checked = check_image(&image);

            if (checked != kernels)
                print_message("%.*s: %zu of %zu kernels can be counted\n", (int)image.name_bytes, image.name, checked,
                              kernels);
            any = true;
        }
    if (!any)
        skip(); /* a build without CUDA */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_kernel_loads_what_its_path_names)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
