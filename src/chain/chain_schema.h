/* A chain's file as libcyaml sees it, for chain_file.c and chain_print.c. */
#ifndef HALO_CHAIN_SCHEMA_H
#define HALO_CHAIN_SCHEMA_H

#include "chain/specs.h"

#include <cyaml/cyaml.h>

enum { CHAIN_KINDS_MOST = 8, CHAIN_VERSION = 1, CHAIN_BYTES_MOST = 1 << 20 };

/* A stage as it stands in the file: one of `values` is there, by the kinds' order. */
struct chain_entry {
    char *values[CHAIN_KINDS_MOST];
    char **options;
    unsigned options_count;
};

struct chain_document {
    unsigned version;
    struct chain_entry *stages;
    unsigned stages_count;
};

/* Points into itself: it stays where it is. */
struct chain_schema {
    cyaml_schema_field_t entry_fields[CHAIN_KINDS_MOST + 2];
    cyaml_schema_value_t entry;
    cyaml_schema_field_t document_fields[3];
    cyaml_schema_value_t document;
};

void chain_schema_init(struct chain_schema *schema);

/* What the library says: the first error, and where. */
struct chain_said {
    char text[256];
    char line[64]; /* "line 3: " */
};

cyaml_config_t chain_schema_config(struct chain_said *said);

#endif
