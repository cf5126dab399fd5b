/* SPDX-License-Identifier: MIT */
#include "check.h"
#include "compare.h"

enum status check_twice(struct chip_check *check)
{
    static const char *const files[SIDES] = {"core-matrix.json", "second-process.json"};
    struct compare_options options = {.threshold = 0.01, .counter_threshold = 0.05, .looks = 1};
    struct side sides[SIDES] = {{.files = 0}};
    struct comparison comparison = {0};
    struct calibration calibration = {0};
    char path[CHIP_PATH_BYTES];
    enum status status;

    chip_path(check->folder, "calibration.json", path);
    status = calibration_read(path, &calibration);
    options.calibration = &calibration;
    for (size_t i = 0; status == STATUS_OK && i < SIDES; i++) {
        chip_path(check->folder, files[i], path);
        status = side_read(path, &sides[i]);
    }
    if (status == STATUS_OK)
        status = compare_sides(&sides[BASE], &sides[NEW], &options, &comparison);
    if (status == STATUS_OK && comparison.counts[VERDICT_IMPROVED] + comparison.counts[VERDICT_REGRESSED] > 0)
        status =
            check_add(check, files[NEW],
                      "remove both, keep other programs off the GPU, and let cbank "
                      "contribute measure them again",
                      "differs from %s, the same plan by the same program, in %zu of %zu cells: cbank compare says "
                      "by how much",
                      files[BASE], comparison.counts[VERDICT_IMPROVED] + comparison.counts[VERDICT_REGRESSED],
                      comparison.cell_count);
    comparison_close(&comparison);
    calibration_close(&calibration);
    for (size_t i = 0; i < SIDES; i++)
        side_close(&sides[i]);
    return status;
}
