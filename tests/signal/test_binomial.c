/* The statistics of a binomial test against R (binom.test, qbinom, pbinom): stored values, and
 * where R is installed, its present output. */
#include "signal/binomial.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct figures {
    size_t hits, n;
    double p_value, low, high;
    size_t needed;
};

/* Output of R 4.2.2 for R_FIGURES of each pair. */
static const struct figures from_r[] = {
    {12, 16, 0.03840637207031252, 0.4762291801038725, 0.9273379617471178, 23},
    {16, 16, 1.525878906250001e-05, 0.7940927857921773, 1, 5},
    {8, 16, 0.5981903076171873, 0.2465101114905753, 0.7534898885094247, 0},
    {0, 16, 1, 0, 0.2059072142078227, 0},
    {1, 1, 0.5, 0.02500000000000002, 1, 5},
    {9, 10, 0.01074218750000001, 0.5549838829718046, 0.9974714214555382, 8},
    {61, 100, 0.01760010010885242, 0.5073144796323635, 0.7059895851465829, 130},
    {5200, 10000, 3.296757799336231e-05, 0.5101533947198647, 0.5298349514860567, 3886},
    {4900, 10000, 0.9777871004769596, 0.4801562536951698, 0.4998495731784546, 0},
    {9999, 10000, 0, 0.9994429630020529, 0.9999974682224065, 5},
    {10000, 10000, 0, 0.9996311800853812, 1, 5},
};

#define R_FIGURES                                                                                  \
    "h <- %zu; n <- %zu; m <- 1:10000;"                                                            \
    "p <- binom.test(h, n, .5, alternative='greater')[['p.value']];"                               \
    "i <- binom.test(h, n)[['conf.int']];"                                                         \
    "c <- qbinom(.05, m, .5, lower.tail=FALSE);"                                                   \
    "power <- pbinom(c, m, h/n, lower.tail=FALSE);"                                                \
    "needed <- if (2*h <= n) 0 else min(m[power >= .8]);"                                          \
    "cat(sprintf('%%.16g %%.16g %%.16g %%.0f\\n', p, i[1], i[2], needed));"

static void check_figures(const struct figures *right)
{
    struct binomial_interval rate = binomial_interval(right->hits, right->n);
    ck_assert_double_eq_tol(binomial_p_value(right->hits, right->n), right->p_value,
                            1e-10 * right->p_value + 1e-300);
    ck_assert_double_eq_tol(rate.low, right->low, 1e-10);
    ck_assert_double_eq_tol(rate.high, right->high, 1e-10);
    ck_assert_uint_eq(binomial_trials_needed(right->hits, right->n), right->needed);
}

START_TEST(figures_equal_stored_ones_of_r)
{
    for (size_t i = 0; i < sizeof from_r / sizeof *from_r; i++)
        check_figures(&from_r[i]);
}

START_TEST(figures_equal_those_of_r)
{
    static const struct figures pairs[] = {{.hits = 12, .n = 16},     {.hits = 7, .n = 9},
                                           {.hits = 700, .n = 1200},  {.hits = 3, .n = 50},
                                           {.hits = 5300, .n = 9999}, {.hits = 20, .n = 24}};
    enum { PAIRS = sizeof pairs / sizeof *pairs };
    char command[PAIRS * 600] = "Rscript -e \"";
    for (size_t i = 0; i < PAIRS; i++) {
        size_t length = strlen(command);
        snprintf(command + length, sizeof command - length, R_FIGURES, pairs[i].hits, pairs[i].n);
    }
    if (system("command -v Rscript >/dev/null 2>&1") != 0) {
        puts("R is not installed: compared with what it gave once");
        return;
    }
    FILE *answers = popen(strcat(command, "\""), "r");
    ck_assert_ptr_nonnull(answers);
    for (size_t i = 0; i < PAIRS; i++) {
        struct figures right = pairs[i];
        ck_assert_int_eq(fscanf(answers, "%lf %lf %lf %zu", &right.p_value, &right.low, &right.high,
                                &right.needed),
                         4);
        check_figures(&right);
    }
    ck_assert_int_eq(pclose(answers), 0);
}

START_TEST(extremes_are_exact)
{
    ck_assert_double_eq(binomial_p_value(0, 0), 1);
    ck_assert_double_eq(binomial_interval(0, 0).low, 0);
    ck_assert_double_eq(binomial_interval(0, 0).high, 1);
    ck_assert_uint_eq(binomial_trials_needed(0, 0), 0);
    ck_assert_uint_eq(binomial_trials_needed(5001, 10000), BINOMIAL_TRIALS_MOST + 1);
}

/* For all counts of many n, both tails and the middle add up to one. */
START_TEST(tails_add_up)
{
    for (size_t n = 1; n <= 10000; n = n * 2 + 1)
        for (size_t hits = 0; hits < n; hits += n / 7 + 1) {
            double above = binomial_p_value(hits + 1, n), below = binomial_p_value(n - hits, n);
            ck_assert_double_eq_tol(above + below, 1, 1e-12);
            ck_assert_double_ge(binomial_p_value(hits, n), above);
        }
}
