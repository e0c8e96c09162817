/* Words, strings and signs of a BruteFIR configuration, one by one.
 *
 * Functions that take something stand on it (`now`) and go on to what follows. Words stay
 * valid as long as the configuration's text, which is changed on the way.
 * Errors: something else stands there; said with file and line.
 */
#ifndef HALO_BRUTEFIR_TOKENS_H
#define HALO_BRUTEFIR_TOKENS_H

#include "mask/mask_config.h"

struct brutefir_token {
    enum { TOKEN_END, TOKEN_STRING, TOKEN_WORD, TOKEN_SIGN } kind;
    char *text; /* of a word or string */
    char sign;
};

struct brutefir_tokens {
    struct mask_config *config; /* its line is kept */
    void *context;              /* the caller's */
    char *at;
    char held; /* what stood at `at` before a word's end was written there; 0: as it is */
    struct brutefir_token now;
};

/* The next token; call it once before the others. */
MUST_CHECK enum status brutefir_next(struct brutefir_tokens *tokens);

/* Whether this sign stands here. */
bool brutefir_at(const struct brutefir_tokens *tokens, char sign);

MUST_CHECK enum status brutefir_expect(struct brutefir_tokens *tokens, char sign);
MUST_CHECK enum status brutefir_text(struct brutefir_tokens *tokens, char **text);
MUST_CHECK enum status brutefir_number(struct brutefir_tokens *tokens, double *value);
MUST_CHECK enum status brutefir_count(struct brutefir_tokens *tokens, const char *what,
                                      uint64_t *value);

/* Whatever stands up to the semicolon; `refused` (or NULL) is a word that must not. */
MUST_CHECK enum status brutefir_pass_over(struct brutefir_tokens *tokens, const char *refused);

#endif
