/* Means and their intervals against R 4.2.2 (t.test), cut to the scale; Friedman's test against a
 * sum over all orders in Python (fractions). */
#include "base/noise.h"
#include "listen/ratings.h"
#include "suite.h"

#include <math.h>

static void expect_mean(struct ratings_mean found, double mean, double low, double high)
{
    ck_assert_double_eq_tol(found.mean, mean, 1e-12);
    ck_assert_double_eq_tol(found.low, low, 1e-10);
    ck_assert_double_eq_tol(found.high, high, 1e-10);
}

static void expect_friedman(struct ratings_friedman found, double statistic, double p_value)
{
    ck_assert_double_eq_tol(found.statistic, statistic, 1e-12);
    ck_assert_double_eq_tol(found.p_value, p_value, 1e-12);
    ck_assert_int_eq(found.method, RATINGS_EXACT);
}

/* m <- matrix(c(...), ncol=3, byrow=TRUE); t.test(m[,1]) */
START_TEST(three_things_in_eight_trials)
{
    static const unsigned char ratings[] = {5, 3, 1, 4, 4, 2, 5, 2, 2, 3, 4, 1,
                                            5, 3, 3, 4, 2, 1, 5, 4, 2, 2, 3, 3};
    expect_mean(ratings_mean(ratings, 8, 3, 0), 4.125, 3.1836474426999, 5);
    expect_mean(ratings_mean(ratings, 8, 3, 1), 3.125, 2.42732134552835, 3.82267865447165);
    expect_mean(ratings_mean(ratings, 8, 3, 2), 1.875, 1.17732134552835, 2.57267865447165);
    expect_friedman(ratings_friedman(ratings, 8, 3), 7.35714285714286, 0.022576588934613628);
}

START_TEST(four_things_with_a_trial_of_ties)
{
    static const unsigned char ratings[] = {1, 2, 3, 4, 2, 1, 3, 4, 1, 2,
                                            4, 3, 5, 5, 5, 5, 1, 3, 2, 4};
    expect_mean(ratings_mean(ratings, 5, 4, 1), 2.6, 1, 4.48307668834844);
    expect_friedman(ratings_friedman(ratings, 5, 4), 8.7, 0.014105902777777778);
}

START_TEST(two_things_and_nine)
{
    static const unsigned char two[] = {1, 2, 1, 2, 2, 1};
    static const unsigned char nine[] = {1, 2, 3, 4, 5, 1, 2, 3, 4, 2, 2, 3, 3, 4, 4, 5, 5, 1};
    expect_mean(ratings_mean(two, 3, 2, 0), 4.0 / 3, 1, 2.76755090991649);
    expect_friedman(ratings_friedman(two, 3, 2), 1.0 / 3, 1);
    expect_mean(ratings_mean(nine, 2, 9, 8), 2.5, 1, 5);
    expect_friedman(ratings_friedman(nine, 2, 9), 7.75862068965517, 194544 / 362880.0);
}

/* Few trials of one order: n trials of k things have k!^(1 - n). */
START_TEST(few_trials_are_exact)
{
    static const unsigned char four[] = {5, 1, 5, 1, 4, 2, 3, 2};
    static const unsigned char mixed[] = {1, 2, 3, 1, 2, 3, 1, 3, 2, 1, 2, 3};
    static const unsigned char five[] = {1, 2, 3, 4, 5, 2, 1, 3, 5, 4, 1, 2, 4, 4, 5};
    unsigned char ordered[12 * 4];
    for (size_t i = 0; i < sizeof ordered; i++)
        ordered[i] = (unsigned char)(1 + i % 4);
    expect_friedman(ratings_friedman(four, 4, 2), 4, 0.125); /* chi-square: 0.0455 */
    expect_friedman(ratings_friedman(mixed, 4, 3), 6.5, 1 / 24.0);
    expect_friedman(ratings_friedman(five, 3, 5), 10.64406779661017, 1 / 300.0);
    struct ratings_friedman all = ratings_friedman(ordered, 12, 4);
    ck_assert_int_eq(all.method, RATINGS_EXACT);
    ck_assert_double_eq_tol(all.p_value / pow(24, -11), 1, 1e-9);
}

/* Too many orders: random ones, the same ones each time. */
START_TEST(many_trials_are_permuted)
{
    enum { TRIALS = 5, THINGS = 6, MANY = 600 };
    static const unsigned char ratings[TRIALS * THINGS] = {
        5, 4, 3, 2, 1, 3, 4, 5, 1, 3, 2, 2, 3, 5, 4, 1, 2, 1, 5, 1, 4, 3, 2, 4, 2, 4, 3, 5, 1, 1};
    static const double exact = 0.11678289281597455;
    static unsigned char many[MANY * 2];
    struct ratings_friedman found = ratings_friedman(ratings, TRIALS, THINGS);
    ck_assert_int_eq(found.method, RATINGS_PERMUTED);
    ck_assert_double_eq_tol(found.p_value, exact,
                            5 * sqrt(exact * (1 - exact) / (double)RATINGS_DRAWS));
    ck_assert_double_eq(found.p_value, ratings_friedman(ratings, TRIALS, THINGS).p_value);
    for (size_t i = 0; i < MANY; i++) /* one in three prefers the other */
        many[2 * i + (i % 3 == 0)] = many[2 * i + (i % 3 != 0)] + 1;
    found = ratings_friedman(many, MANY, 2);
    ck_assert_int_eq(found.method, RATINGS_APPROXIMATE);
    ck_assert_double_eq_tol(found.statistic, 200.0 * 200 / MANY, 1e-9);
    ck_assert_double_eq_tol(found.p_value / erfc(sqrt(200.0 * 200 / MANY / 2)), 1, 1e-9);
}

START_TEST(small_samples_are_inconclusive)
{
    static const unsigned char same[] = {3, 3, 3, 4, 4, 4};
    struct ratings_mean once = ratings_mean(same, 1, 3, 2);
    ck_assert_double_eq(once.mean, 3);
    ck_assert(isnan(once.low) && isnan(once.high));
    struct ratings_mean equal = ratings_mean((const unsigned char[]){5, 5, 5}, 3, 1, 0);
    ck_assert(isnan(equal.low) && isnan(equal.high));
    expect_friedman(ratings_friedman(same, 2, 3), 0, 1);
    expect_friedman(ratings_friedman(same, 0, 3), 0, 1);
}
