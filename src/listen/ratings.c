#include "listen/ratings.h"

#include <math.h>

static const double confidence = 0.95;

/* The probability that |t| is below `t`, with `freedom` degrees (26.7.3 and 26.7.4). */
static double student_within(double t, size_t freedom)
{
    double angle = atan(t / sqrt((double)freedom)), cosine = cos(angle);
    size_t first = freedom % 2 ? 3 : 2;
    double term = freedom % 2 ? cosine : 1, sum = freedom > 1 ? term : 0;
    for (size_t k = first; k + 1 < freedom; k += 2) {
        term *= cosine * cosine * (double)(k - 1) / (double)k;
        sum += term;
    }
    sum *= sin(angle);
    return freedom % 2 ? (angle + sum) * 2 / acos(-1) : sum;
}

static double student_limit(size_t freedom)
{
    double low = 0, high = 16; /* one degree of freedom: 12.7 */
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (student_within(middle, freedom) < confidence)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* The probability of `x` or more, with `freedom` degrees (26.4.4 and 26.4.5). */
static double chi_square_above(double x, size_t freedom)
{
    double half = x / 2, sum = freedom % 2 ? erfc(sqrt(half)) : 0;
    double power = freedom % 2 ? 0.5 : 0, term = exp(-half) * pow(half, power) / tgamma(power + 1);
    for (size_t i = 0; i < freedom / 2; i++) {
        sum += term;
        term *= half / (power + 1 + (double)i);
    }
    return sum;
}

struct ratings_mean ratings_mean(const unsigned char *ratings, size_t trials, size_t things,
                                 size_t thing)
{
    double sum = 0, squares = 0, count = (double)trials;
    for (size_t t = 0; t < trials; t++)
        sum += ratings[t * things + thing];
    double mean = sum / count;
    if (trials < 2)
        return (struct ratings_mean){mean, -INFINITY, INFINITY};
    for (size_t t = 0; t < trials; t++) {
        double away = ratings[t * things + thing] - mean;
        squares += away * away;
    }
    double margin = student_limit(trials - 1) * sqrt(squares / (count - 1) / count);
    return (struct ratings_mean){mean, mean - margin, mean + margin};
}

/* Its rank in the row minus the mean rank, ties sharing theirs; *equal: ties, with itself. */
static double rank_in(const unsigned char *row, size_t things, size_t thing, size_t *equal)
{
    size_t below = 0;
    *equal = 0;
    for (size_t other = 0; other < things; other++) {
        below += row[other] < row[thing];
        *equal += row[other] == row[thing];
    }
    return (double)below + (double)(*equal + 1) / 2 - (double)(things + 1) / 2;
}

struct ratings_friedman ratings_friedman(const unsigned char *ratings, size_t trials, size_t things)
{
    double between = 0, ties = 0, k = (double)things;
    for (size_t thing = 0; thing < things; thing++) {
        double sum = 0;
        for (size_t t = 0; t < trials; t++) {
            size_t equal;
            sum += rank_in(ratings + t * things, things, thing, &equal);
            ties += (double)(equal * equal - 1); /* over a group of t: t^3 - t */
        }
        between += sum * sum;
    }
    double scale = (double)trials * k * (k + 1) - ties / (k - 1);
    if (scale <= 0)
        return (struct ratings_friedman){0, 1};
    double statistic = 12 * between / scale;
    return (struct ratings_friedman){statistic, chi_square_above(statistic, things - 1)};
}
