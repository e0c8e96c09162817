/* The YAML of a chain's file as structs, for libcyaml. Private to chain_*.c. */
#ifndef HALO_CHAIN_SCHEMA_H
#define HALO_CHAIN_SCHEMA_H

#include "chain/cyaml_library.h"
#include "chain/stages.h"

#include <limits.h>

enum { CHAIN_VERSION = 1, CHAIN_STAGES_MOST = 256, CHAIN_BYTES_MOST = 1 << 20 };

#define CHAIN_MARK "halo-chain" /* the key that every such file has */

/* A stage in the file: one of `values` is set, in the order of the kinds. */
struct chain_entry {
    char *values[STAGE_KINDS_MOST];
    char **options;
    unsigned options_count;
    bool *is_other; /* NULL: no */
};

struct chain_live_entry {
    unsigned *mask; /* NULL: the first */
    bool *dry;
    double *gain;
};

struct chain_document {
    unsigned version;
    char *tempo; /* NULL: none */
    struct chain_entry *stages;
    unsigned stages_count;
    struct chain_live_entry *live; /* or NULL */
};

/* Points into itself: must not move. */
struct chain_schema {
    cyaml_schema_field_t entry_fields[STAGE_KINDS_MOST + 3];
    cyaml_schema_value_t entry;
    cyaml_schema_field_t live_fields[4];
    cyaml_schema_field_t document_fields[5];
    cyaml_schema_value_t document;
};

void chain_schema_init(struct chain_schema *schema);

/* The first error reported by libcyaml, in plain words, and its line. */
struct chain_error {
    char text[256];
    char line[64]; /* "line 3: " */
};

cyaml_config_t chain_schema_config(struct chain_error *error);

/* The folder of a chain's file. Errors: its name is too long. */
MUST_CHECK enum status chain_schema_folder(const char *path, char folder[static PATH_MAX]);

#endif
