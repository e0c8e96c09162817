/* Runs one Check suite; every test file ends with SUITE_MAIN. Each test is a case of its own, so
 * that CK_RUN_CASE=TEST in the environment runs it alone; HALO_TEST_WITHOUT="TEST TEST" runs the
 * others. */
#ifndef HALO_TESTS_SUITE_H
#define HALO_TESTS_SUITE_H

#include <check.h>
#undef fail /* a deprecated macro of Check; ours is a function */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Check writes the place of each assertion that holds into a file, with as many bytes as the
 * longest message; in a loop over samples that takes most of a suite's time. Once is enough until
 * another line is reached. */
static inline void suite_mark(const char *file, int line)
{
    static _Thread_local const char *last_file; /* threads assert, too */
    static _Thread_local int last_line;
    if (line != last_line || file != last_file)
        (_mark_point)(file, line);
    last_file = file;
    last_line = line;
}
#define _mark_point(file, line) suite_mark(file, line)

static inline bool suite_is_without(const char *test)
{
    const char *names = getenv("HALO_TEST_WITHOUT"), *at = names;
    size_t length = strlen(test);
    for (; at && (at = strstr(at, test)); at += length)
        if ((at == names || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

static inline int suite_run(const char *name, const TTest *const *tests, size_t count)
{
    Suite *suite = suite_create(name);
    for (size_t i = 0; i < count; i++) {
        if (suite_is_without(tests[i]->name))
            continue;
        TCase *test = tcase_create(tests[i]->name);
        tcase_set_timeout(test, 0); /* ctest has the timeout */
        tcase_add_test(test, tests[i]);
        suite_add_tcase(suite, test);
    }
    /* What a program printed may be long; Check copies as much for each assertion. */
    setenv("CK_MAX_MSG_SIZE", "32768", 0);
    setenv("HALO_PROGRAM", HALO_PROGRAM, 0); /* which processes for plugins are started from */
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#define SUITE_MAIN(name, ...)                                                                      \
    int main(void)                                                                                 \
    {                                                                                              \
        const TTest *const tests[] = {__VA_ARGS__};                                                \
        return suite_run(name, tests, sizeof tests / sizeof *tests);                               \
    }

#endif
