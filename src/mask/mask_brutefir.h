/* What a BruteFIR configuration says, before it is a mask. */
#ifndef HALO_MASK_BRUTEFIR_H
#define HALO_MASK_BRUTEFIR_H

#include "mask/mask_config.h"
#include "mask/mask_matrix.h"

enum { BRUTEFIR_NAMES_MOST = 128, BRUTEFIR_FILTERS_MOST = 256 };

/* A channel or filter that another names, and how loud. */
struct brutefir_filter;
struct brutefir_link {
    char *name;
    size_t line;
    double gain;
    struct brutefir_filter *filter; /* that is named, once all are known */
};

struct brutefir_links {
    size_t count;
    struct brutefir_link at[BRUTEFIR_NAMES_MOST];
};

struct brutefir_coeff {
    char *name;
    char *file; /* NULL: not said */
    size_t line;
    const char *format; /* BruteFIR's word */
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
    char *coeff;    /* NULL: not said */
    uint64_t delay; /* blocks */
    struct brutefir_links from_inputs, from_filters, to_outputs, to_filters;
    enum { FILTER_UNKNOWN, FILTER_ASKED, FILTER_DONE } state;
    struct mask_matrix *response; /* one output */
};

/* Names point into the configuration's text. */
struct brutefir {
    struct mask_config *config;
    uint64_t block;  /* frames; 0: not said */
    uint64_t blocks; /* of a filter */
    size_t coeff_count;
    struct brutefir_coeff *coeffs;
    struct brutefir_channels inputs, outputs;
    size_t filter_count;
    struct brutefir_filter *filters;
};

/* The filters between inputs and outputs as a mask. Errors: names of nothing, circles. */
MUST_CHECK enum status brutefir_to_mask(struct brutefir *brutefir, struct mask **mask);

#endif
