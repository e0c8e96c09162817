/* SHA-256 against the examples of FIPS 180-2, of files and of masks; and secrets. */
#include "command.h"
#include "listen/digest.h"
#include "suite.h"

#include <string.h>

static void expect(const char *text, const char *right)
{
    char digest[DIGEST_TEXT];
    ck_assert_int_eq(digest_start(), STATUS_OK);
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

START_TEST(files_have_the_digest_of_sha256sum)
{
    char digest[DIGEST_TEXT];
    ck_assert_int_eq(digest_start(), STATUS_OK);
    command_clean();
    struct command_result sum = command_done("seq 1 100000 >seq.txt; sha256sum seq.txt");
    ck_assert(digest_of_file(command_path("seq.txt"), digest));
    ck_assert_int_eq(strncmp(sum.out, digest, DIGEST_TEXT - 1), 0);
    ck_assert(!digest_of_file(command_path("none.txt"), digest));
    ck_assert(!digest_of_file(command_folder(), digest));
}

/* One coefficient, the rate or time zero makes another one; the name does not. */
START_TEST(masks_differ_by_what_is_heard)
{
    char digest[5][DIGEST_TEXT];
    struct mask *mask;
    ck_assert_int_eq(digest_start(), STATUS_OK);
    ck_assert_int_eq(mask_create("one", 2, 3, &mask), STATUS_OK);
    digest_of_mask(mask, digest[0]);
    mask_column(mask, 1)[2] = 1e-9;
    digest_of_mask(mask, digest[1]);
    mask->rate = 44100;
    digest_of_mask(mask, digest[2]);
    mask->origin = 1;
    digest_of_mask(mask, digest[3]);
    mask_destroy(mask);
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < i; j++)
            ck_assert_str_ne(digest[i], digest[j]);
    ck_assert_int_eq(mask_create("other", 2, 3, &mask), STATUS_OK);
    digest_of_mask(mask, digest[4]);
    mask_destroy(mask);
    ck_assert_str_eq(digest[4], digest[0]);
}

/* All digits are equally frequent: chi-square of 15 degrees exceeds 74.5 once in 10^9 runs. */
START_TEST(secrets_are_uniform)
{
    enum { SECRETS = 1000, DIGITS = 16 };
    static const char digits[] = "0123456789abcdef";
    size_t counts[DIGITS] = {0}, all = (size_t)SECRETS * (DIGEST_TEXT - 1);
    double chi_square = 0;
    ck_assert_int_eq(digest_start(), STATUS_OK);
    for (int i = 0; i < SECRETS; i++) {
        char secret[DIGEST_TEXT];
        digest_draw_secret(secret);
        ck_assert_uint_eq(strspn(secret, digits), DIGEST_TEXT - 1);
        for (const char *digit = secret; *digit; digit++)
            counts[strchr(digits, *digit) - digits]++;
    }
    for (size_t i = 0; i < DIGITS; i++) {
        double mean = (double)all / DIGITS, away = (double)counts[i] - mean;
        chi_square += away * away / mean;
    }
    ck_assert_double_lt(chi_square, 74.5);
}
