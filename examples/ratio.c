/* SPDX-License-Identifier: MIT
 * How much longer does a constant table take when threads of a warp differ in their index?
 * cc ratio.c -lcbank -lcjson -lpthread -ldl -lrt -lm; without a GPU the model engine answers. */
#include <cbank.h>
#include <stdio.h>

int main(void)
{
    const char *const options[] = {"--path=constant", "--pattern=per_block,pseudo_random",
                                   "--elements=128k"};
    struct cbank_plan *plan;
    struct cbank_result *result = NULL;
    struct cbank_comparison *comparison = NULL;
    enum cbank_status status = cbank_plan(3, options, &plan);

    for (size_t i = 0; status == CBANK_OK && i < cbank_plan_cells(plan); i++) {
        char identity[CBANK_IDENTITY_BYTES];

        cbank_plan_cell(plan, i, identity);
        printf("%zu: %s\n", i, identity);
    }
    if (status == CBANK_OK)
        status = cbank_run(3, options, "ratio.json", &result);
    if (result)
        printf("%.2f times as long\n",
               cbank_result_cell(result, 1).time_ns / cbank_result_cell(result, 0).time_ns);
    if (result) /* a second run of the same would say whether that repeats: here the result is
                   compared with itself */
        cbank_compare(1, (const struct cbank_result *const *)&result, 1,
                      (const struct cbank_result *const *)&result, 0.01, &comparison);
    for (size_t i = 0; comparison && i < cbank_comparison_cells(comparison); i++)
        printf("%s: %s\n", cbank_comparison_cell(comparison, i).identity,
               cbank_comparison_cell(comparison, i).verdict);
    cbank_comparison_close(comparison);
    cbank_result_close(result);
    cbank_plan_close(plan);
    return status;
}
