/* Runs the tests of a file, which START_TEST defines, as one Check suite in the order of the file.
 * Each test is a case of its own, so that CK_RUN_CASE=TEST in the environment runs it alone;
 * HALO_TEST_WITHOUT="TEST TEST" runs the others. Each test begins with an empty command_folder(),
 * unless suite_keeps_files. */
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

/* Check's macro, which also adds the test to the suite: no list, and no END_TEST, is needed. */
#undef START_TEST
#define START_TEST(test)                                                                           \
    static void test(int);                                                                         \
    __attribute__((constructor)) static void add_##test(void)                                      \
    {                                                                                              \
        static const TTest added = {#test, test, __FILE__, __LINE__};                              \
        suite_add(&added);                                                                         \
    }                                                                                              \
    static void test(int _i CK_ATTRIBUTE_UNUSED)

void suite_add(const TTest *test);

/* Calls release(object) when the test ends. Threads: any. */
void suite_release(void (*release)(void *object), void *object);

/* Destroys a mask when the test ends, and returns it. */
struct mask *suite_mask(struct mask *mask);

/* Leave out tests, which cannot run here: names with blanks between them. */
void suite_leave_out(const char *names);

extern bool suite_keeps_files;

/* The tests that are not left out. A file with a main() of its own calls it. */
int suite_run(void);

#endif
