/* Expressions of Equalizer APO (Eval: lines, and `...` within others), where they are of numbers:
 * a = 2*pi*3000/sampleRate; sin(a)^2. Threads: any.
 *
 * Text, arrays, and what asks for the device are refused, since nothing here has them.
 */
#ifndef HALO_EQAPO_EXPRESSION_H
#define HALO_EQAPO_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>

enum { EQAPO_VARIABLES_MOST = 256, EQAPO_VARIABLE_BYTES = 32 };

/* All zero: no variables. */
struct eqapo_variables {
    size_t count;
    struct {
        char name[EQAPO_VARIABLE_BYTES];
        double value;
    } items[EQAPO_VARIABLES_MOST];
};

/* False: there is no such variable. */
bool eqapo_variable(const struct eqapo_variables *variables, const char *name, double *value);

/* False: the name is too long, or there are too many. */
bool eqapo_variable_set(struct eqapo_variables *variables, const char *name, double value);

/* Expressions separated by semicolons; *value is that of the last. Returns NULL or where the text
 * cannot be read. */
const char *eqapo_evaluate(struct eqapo_variables *variables, const char *text, double *value);

#endif
