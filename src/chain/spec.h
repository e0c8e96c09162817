/* A spec describes a stage or a mask: a name, and options after commas. "\," is a comma in a name.
 * A comma in the name of an existing file needs no backslash. */
#ifndef HALO_SPEC_H
#define HALO_SPEC_H

/* Split a spec into words, NULL-terminated, in one block for the caller to free. NULL: memory. */
char **spec_split(const char *text);

#endif
