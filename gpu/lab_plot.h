/* The kind of plot that a laboratory draws through gnuplot. */
#ifndef HALO_GPU_LAB_PLOT_H
#define HALO_GPU_LAB_PLOT_H

#include "status.h"

/* gnuplot's terminal for a file's kind; NULL for no file. Errors: an unknown kind, no gnuplot. */
MUST_CHECK enum status lab_plot_terminal(const char *file, const char **terminal);

#endif
