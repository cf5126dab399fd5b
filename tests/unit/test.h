/* SPDX-License-Identifier: MIT
 * The frame of a unit test: cmocka, TEST, which defines a test and lists it, and main. */
#ifndef CBANK_TESTS_TEST_H
#define CBANK_TESTS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct CMUnitTest listed_tests[128];
static size_t listed_count;
static CMFixtureFunction before_all, after_all;

/* A test, between its set-up and its tear-down. Its name is a sentence. */
#define TEST_WITH(name, set_up, tear_down)                                 \
    static void name(void **state);                                        \
    __attribute__((constructor)) static void list_##name(void)             \
    {                                                                      \
        listed_tests[listed_count++] =                                     \
            (struct CMUnitTest){#name, name, (set_up), (tear_down), NULL}; \
    }                                                                      \
    static void name(__attribute__((unused)) void **state)

#define TEST(name) TEST_WITH(name, NULL, NULL)

/* Sets what runs before the first test of the file, and after the last. */
#define AROUND_ALL(set_up, tear_down)                            \
    __attribute__((constructor)) static void list_fixtures(void) \
    {                                                            \
        before_all = (set_up);                                   \
        after_all = (tear_down);                                 \
    }

int main(void)
{
    return _cmocka_run_group_tests("tests", listed_tests, listed_count, before_all, after_all);
}

#endif
