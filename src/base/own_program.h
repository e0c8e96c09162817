/* The program that runs, to run it again as a child: what may crash or hang is left to that. */
#ifndef HALO_OWN_PROGRAM_H
#define HALO_OWN_PROGRAM_H

/* A path to execute. The variable HALO_PROGRAM names another: a test is not halo itself. */
const char *own_program(void);

#endif
