/* What describes a stage or a mask: a name, and options after commas; "\," is a comma of a name,
 * and so is one in the name of a file that is there. */
#ifndef HALO_SPEC_H
#define HALO_SPEC_H

/* The words of a spec, NULL-terminated, in one allocation for free(); NULL: memory. */
char **spec_split(const char *text);

#endif
