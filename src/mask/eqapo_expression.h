/* Expressions of Equalizer APO (Eval: lines, and `...` within others), where they are of numbers:
 * a = 2*pi*3000/sampleRate; sin(a)^2. Threads: any.
 *
 * Text, arrays, and what asks for the device are refused, since nothing here has them. Constants
 * are the sound's: sampleRate, inputChannelCount and outputChannelCount.
 */
#ifndef HALO_EQAPO_EXPRESSION_H
#define HALO_EQAPO_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>

enum { EQAPO_VARIABLES_MOST = 256, EQAPO_VARIABLE_BYTES = 32 };

/* All zero: no variables. */
struct eqapo_variables {
    double sample_rate; /* Hz */
    double channels;
    bool is_logical; /* the last expression was true or false, not a number */
    size_t count;
    struct {
        char name[EQAPO_VARIABLE_BYTES];
        double value;
        bool is_logical;
    } items[EQAPO_VARIABLES_MOST];
};

/* Expressions separated by semicolons; *value is that of the last. Returns NULL, or where the text
 * cannot be read and why: "cannot be read". */
const char *eqapo_evaluate(struct eqapo_variables *variables, const char *text, double *value,
                           const char **reason);

#endif
