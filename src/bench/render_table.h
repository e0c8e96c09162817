/* What the render laboratory measured, as a table, CSV or JSON. */
#ifndef HALO_RENDER_TABLE_H
#define HALO_RENDER_TABLE_H

#include "bench/bench.h"
#include "bench/render_bench.h"

struct render_table;

/* Errors: memory. On failure *table is NULL. */
MUST_CHECK enum status render_table_create(enum bench_form form, struct render_table **table);
void render_table_destroy(struct render_table *table);

/* Tables and CSV grow row by row, JSON comes at the end. Errors: memory, writing. */
MUST_CHECK enum status render_table_take(struct render_table *table, const struct render_row *row);
MUST_CHECK enum status render_table_finish(struct render_table *table);

#endif
