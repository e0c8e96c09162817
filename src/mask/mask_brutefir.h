/* A BruteFIR configuration as parsed, and its tokens. Names point into the text of the
 * configuration, which the tokeniser changes. */
#ifndef HALO_MASK_BRUTEFIR_H
#define HALO_MASK_BRUTEFIR_H

#include "mask/mask_config.h"
#include "mask/mask_matrix.h"

enum { BRUTEFIR_NAMES_MOST = 128, BRUTEFIR_FILTERS_MOST = 256 };

struct brutefir_filter;
struct brutefir_link {
    char *name; /* of a channel or filter */
    size_t line;
    double gain;
    bool is_index;                  /* the name, if it is a number */
    struct brutefir_filter *filter; /* resolved from the name */
};

struct brutefir_links {
    size_t count;
    struct brutefir_link at[BRUTEFIR_NAMES_MOST];
};

struct brutefir_coeff {
    char *name;
    char *file; /* NULL: not given */
    size_t line;
    char *format; /* as BruteFIR calls it */
    double gain;
    uint64_t skip;
    uint64_t blocks; /* 0: all */
};

struct brutefir_channel {
    char *name;
    size_t device; /* channel of the sound */
    uint64_t delay;
    bool is_muted;
};

struct brutefir_channels {
    size_t count;
    size_t devices; /* channels of the sound */
    struct brutefir_channel at[BRUTEFIR_NAMES_MOST];
};

struct brutefir_filter {
    char *name;
    size_t line;
    char *coeff; /* NULL: not given */
    bool has_coeff_index;
    uint64_t delay; /* blocks */
    struct brutefir_links from_inputs, from_filters, to_outputs, to_filters;
    enum { FILTER_NEW, FILTER_ENTERED, FILTER_DONE } state;
    struct mask_matrix *response; /* one output */
};

struct brutefir {
    struct mask_config *config;
    uint64_t block;  /* frames; 0: not given */
    uint64_t blocks; /* of a filter */
    struct brutefir_channels inputs, outputs;
    size_t coeff_count, filter_count;
    struct brutefir_coeff coeffs[BRUTEFIR_FILTERS_MOST];
    struct brutefir_filter filters[BRUTEFIR_FILTERS_MOST];
};

/* Fold the filters between inputs and outputs into a mask. Responses of filters stay the caller's
 * to destroy. Errors: unknown names, cycles. */
MUST_CHECK enum status brutefir_to_mask(struct brutefir *brutefir, struct mask **mask);

/* ---- tokens ---- */

struct brutefir_tokens {
    struct mask_config *config; /* its line is kept up to date */
    char *at;
    char held; /* the character at `at` that a terminator replaced; 0: none */
    struct {
        enum { TOKEN_END, TOKEN_STRING, TOKEN_WORD, TOKEN_SIGN } kind;
        char *text; /* of a word or string */
        char sign;
    } now;
};

/* Advance to the next token; call it once before the others. */
MUST_CHECK enum status brutefir_next(struct brutefir_tokens *tokens);

/* Whether the current token is this sign. */
bool brutefir_at(const struct brutefir_tokens *tokens, char sign);

/* Consume the current token. Errors: it is of another kind. */
MUST_CHECK enum status brutefir_expect(struct brutefir_tokens *tokens, char sign);
MUST_CHECK enum status brutefir_text(struct brutefir_tokens *tokens, char **text);
MUST_CHECK enum status brutefir_number(struct brutefir_tokens *tokens, double *value);
MUST_CHECK enum status brutefir_count(struct brutefir_tokens *tokens, const char *what,
                                      uint64_t *value);

/* Skip everything up to the semicolon. Of logic modules, all but a CLI without script are errors.
 */
MUST_CHECK enum status brutefir_skip(struct brutefir_tokens *tokens, bool are_modules);

#endif
