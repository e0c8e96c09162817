/* Means, their intervals and Friedman's test, against R 4.2.2 (t.test, friedman.test). */
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
}

/* m <- matrix(c(...), ncol=3, byrow=TRUE); t.test(m[,1]); friedman.test(m) */
START_TEST(three_things_in_eight_trials)
{
    static const unsigned char ratings[] = {5, 3, 1, 4, 4, 2, 5, 2, 2, 3, 4, 1,
                                            5, 3, 3, 4, 2, 1, 5, 4, 2, 2, 3, 3};
    expect_mean(ratings_mean(ratings, 8, 3, 0), 4.125, 3.1836474426999, 5.0663525573001);
    expect_mean(ratings_mean(ratings, 8, 3, 1), 3.125, 2.42732134552835, 3.82267865447165);
    expect_mean(ratings_mean(ratings, 8, 3, 2), 1.875, 1.17732134552835, 2.57267865447165);
    expect_friedman(ratings_friedman(ratings, 8, 3), 7.35714285714286, 0.0252590334064103);
}
END_TEST

START_TEST(four_things_with_a_trial_of_ties)
{
    static const unsigned char ratings[] = {1, 2, 3, 4, 2, 1, 3, 4, 1, 2,
                                            4, 3, 5, 5, 5, 5, 1, 3, 2, 4};
    expect_mean(ratings_mean(ratings, 5, 4, 1), 2.6, 0.716923311651562, 4.48307668834844);
    expect_friedman(ratings_friedman(ratings, 5, 4), 8.7, 0.033557268705538);
}
END_TEST

START_TEST(two_things_and_nine)
{
    static const unsigned char two[] = {1, 2, 1, 2, 2, 1};
    static const unsigned char nine[] = {1, 2, 3, 4, 5, 1, 2, 3, 4, 2, 2, 3, 3, 4, 4, 5, 5, 1};
    expect_mean(ratings_mean(two, 3, 2, 0), 4.0 / 3, -0.100884243249821, 2.76755090991649);
    expect_friedman(ratings_friedman(two, 3, 2), 1.0 / 3, 0.563702861650773);
    expect_mean(ratings_mean(nine, 2, 9, 8), 2.5, -16.559307104262, 21.559307104262);
    expect_friedman(ratings_friedman(nine, 2, 9), 7.75862068965517, 0.457397049706657);
}
END_TEST

START_TEST(small_samples_are_inconclusive)
{
    static const unsigned char same[] = {3, 3, 3, 4, 4, 4};
    struct ratings_mean once = ratings_mean(same, 1, 3, 2);
    ck_assert_double_eq(once.mean, 3);
    ck_assert(isinf(once.low) && isinf(once.high));
    expect_friedman(ratings_friedman(same, 2, 3), 0, 1);
    expect_friedman(ratings_friedman(same, 0, 3), 0, 1);
}
END_TEST

SUITE_MAIN("ratings", three_things_in_eight_trials, four_things_with_a_trial_of_ties,
           two_things_and_nine, small_samples_are_inconclusive)
