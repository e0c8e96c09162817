#include "suite.h"

#include "command.h"
#include "mask/mask.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TESTS_MOST = 100 }; /* of a file */

static const TTest *tests[TESTS_MOST];
static size_t test_count;

/* Constructors are called in any order. */
void suite_add(const TTest *test)
{
    if (test_count == TESTS_MOST)
        abort();
    size_t at = test_count++;
    for (; at > 0 && tests[at - 1]->line > test->line; at--)
        tests[at] = tests[at - 1];
    tests[at] = test;
}

void suite_leave_out(const char *names)
{
    const char *before = getenv("HALO_TEST_WITHOUT");
    char *all = NULL;
    if (asprintf(&all, "%s %s", before ? before : "", names) < 0)
        abort();
    setenv("HALO_TEST_WITHOUT", all, 1);
    free(all);
}

struct released {
    struct released *before;
    void (*release)(void *object);
    void *object;
};
static struct released *latest;
static pthread_mutex_t releasing = PTHREAD_MUTEX_INITIALIZER;

void suite_release(void (*release)(void *object), void *object)
{
    struct released *released = malloc(sizeof *released);
    if (!released)
        abort();
    pthread_mutex_lock(&releasing);
    *released = (struct released){latest, release, object};
    latest = released;
    pthread_mutex_unlock(&releasing);
}

static void release_mask(void *mask)
{
    mask_destroy(mask);
}

struct mask *suite_mask(struct mask *mask)
{
    suite_release(release_mask, mask);
    return mask;
}

bool suite_keeps_files;

static void begin_test(void)
{
    if (!suite_keeps_files)
        command_clean();
}

static void release_all(void)
{
    while (latest) {
        struct released *released = latest;
        latest = released->before;
        released->release(released->object);
        free(released);
    }
}

static bool is_left_out(const char *test)
{
    const char *names = getenv("HALO_TEST_WITHOUT"), *at = names;
    size_t length = strlen(test);
    for (; at && (at = strstr(at, test)); at += length)
        if ((at == names || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

__attribute__((constructor)) static void set_environment(void)
{
    /* What a program printed may be long; Check copies as much for each assertion. */
    setenv("CK_MAX_MSG_SIZE", "32768", 0);
    setenv("HALO_PROGRAM", HALO_PROGRAM, 0); /* which processes for plugins are started from */
    setenv("HALO", HALO_PROGRAM, 0);         /* a bundle installed elsewhere sets its own */
    setenv("FILTERS", HALO_FILTERS, 0);
    setenv("WAV", HALO_WAV, 0);
}

int suite_run(void)
{
    Suite *suite = suite_create(program_invocation_short_name);
    for (size_t i = 0; i < test_count; i++) {
        if (is_left_out(tests[i]->name))
            continue;
        TCase *test = tcase_create(tests[i]->name);
        tcase_set_timeout(test, 0); /* ctest has the timeout */
        tcase_add_checked_fixture(test, begin_test, release_all);
        tcase_add_test(test, tests[i]);
        suite_add_tcase(suite, test);
    }
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

__attribute__((weak)) int main(void)
{
    return suite_run();
}
