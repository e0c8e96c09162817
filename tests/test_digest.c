/* SHA-256 against the examples of FIPS 180-2, and draws from the system's source. */
#include "listen/trial.h"
#include "suite.h"

#include <string.h>

static void expect(const char *text, const char *right)
{
    char digest[DIGEST_TEXT];
    ck_assert_int_eq(secure_random_start(), STATUS_OK);
    digest_of_text(text, digest);
    ck_assert_str_eq(digest, right);
}

START_TEST(digests_equal_the_standard)
{
    enum { MILLION = 1000000 };
    expect("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    expect("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
           "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    expect("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    char *million = malloc(MILLION + 1);
    ck_assert_ptr_nonnull(million);
    memset(million, 'a', MILLION);
    million[MILLION] = '\0';
    expect(million, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(million);
}
END_TEST

/* All values are equally frequent: chi-square of 5 degrees exceeds 50.7 once in 10^9 runs. */
START_TEST(random_draws_are_uniform)
{
    enum { SIDES = 6, DRAWS = 60000 };
    size_t counts[SIDES] = {0};
    double chi_square = 0;
    ck_assert_int_eq(secure_random_start(), STATUS_OK);
    for (int i = 0; i < DRAWS; i++) {
        uint32_t side = secure_random_below(SIDES);
        ck_assert_uint_lt(side, SIDES);
        counts[side]++;
    }
    for (int side = 0; side < SIDES; side++) {
        double away = (double)counts[side] - DRAWS / SIDES;
        chi_square += away * away / (DRAWS / SIDES);
    }
    ck_assert_double_lt(chi_square, 50.7);
}
END_TEST

START_TEST(salts_differ)
{
    char one[33], other[33];
    ck_assert_int_eq(secure_random_start(), STATUS_OK);
    secure_random_hex(16, one);
    secure_random_hex(16, other);
    ck_assert_uint_eq(strspn(one, "0123456789abcdef"), 32);
    ck_assert_uint_eq(strlen(one), 32);
    ck_assert_str_ne(one, other);
}
END_TEST

SUITE_MAIN("digest", digests_equal_the_standard, random_draws_are_uniform, salts_differ)
