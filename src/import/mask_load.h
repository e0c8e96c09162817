/* Masks from files of any kind. Threads: any. Not real-time. */
#ifndef HALO_MASK_LOAD_H
#define HALO_MASK_LOAD_H

#include "mask/mask.h"
#include "sound/file/raw_format.h"

/* Which of the directions of a SOFA file, in degrees: azimuth to the left, elevation upwards. All
 * zero: as the sound's channels suggest. */
enum mask_interpolate {
    MASK_INTERPOLATE_DEFAULT,
    MASK_INTERPOLATE_NEAREST,
    MASK_INTERPOLATE_LINEAR
};
struct mask_directions {
    bool has_direction;
    double azimuth, elevation;
    const char *speakers; /* a layout or a list of directions */
    enum mask_interpolate interpolate;
};

/* What is known about a mask file besides its name. All zero: nothing. */
struct mask_load_options {
    bool allow_truncated;
    bool in_double;             /* taps may be beyond single precision */
    struct raw_layout raw;      /* with a format: headerless samples */
    struct stream_format sound; /* that the mask will filter; 0: unknown */
    const char *folder;         /* with files of a configuration; NULL: that of the mask */
    size_t file_count;          /* files in the place of others: */
    const char *const *files;   /* "NAME=>PATH", NAME being what a configuration says, or
                                   "FILE:NAME=>PATH", where several files are one */
    bool distrusts_configs;     /* they may name files of that folder only (mask_config.h) */
    bool skips_nonlinear;       /* their stages that are no filter are left out, not refused */
    bool is_about_configs;      /* one of these is stated for this mask, which must be one then */
    bool is_named;              /* by a configuration: cannot be one itself */
    struct workers *workers;    /* that share the work; NULL: the caller alone */
    struct mask_directions directions;
};

/* The option that is about configurations, "folder="; there is one. */
const char *mask_config_option(const struct mask_load_options *options);

#define MASK_FILE_GIVES "=>"

/* The PATH in NAME=>PATH, after the last "=>"; NULL: there is none. */
const char *mask_file_given(const char *text);

/* Read any kind of mask file. Errors: no such file, not a mask, empty, NaN or infinity, memory. */
MUST_CHECK enum status mask_load_with(const char *file, const struct mask_load_options *options,
                                      struct mask **mask);

/* Whether an option about directions is given. */
bool mask_directions_given(const struct mask_directions *directions);

/* Whether a name has this ending, ".wav", in either case. */
bool mask_file_ends_with(const char *file, const char *ending);

#endif
