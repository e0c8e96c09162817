/* Masks from files of any kind. Threads: any. Not real-time. */
#ifndef HALO_MASK_LOAD_H
#define HALO_MASK_LOAD_H

#include "mask/mask.h"
#include "sound/file/raw_format.h"

/* Which directions of a SOFA file to use. Degrees: azimuth to the left, elevation upwards. All
 * zero: chosen by the sound's channels. */
enum mask_interpolate {
    MASK_INTERPOLATE_DEFAULT,
    MASK_INTERPOLATE_NEAREST,
    MASK_INTERPOLATE_LINEAR
};
struct mask_directions {
    bool has_direction;
    double azimuth, elevation;
    const char *speakers; /* a layout or a list of directions; NULL: not given */
    enum mask_interpolate interpolate;
};

/* What the caller knows about a mask file besides its name. All zero: nothing. */
struct mask_load_options {
    bool allow_truncated;
    bool in_double;             /* taps may exceed the range of single precision */
    struct raw_layout raw;      /* if it has a format, the file is headerless samples */
    struct stream_format sound; /* format of the sound that the mask will filter; 0: unknown */
    const char *folder; /* folder with files that a configuration names; NULL: the mask's folder */
    size_t file_count;  /* number of `files` */
    /* Files to use instead of those that configurations name. "NAME=>PATH": NAME is the name in a
     * configuration. "FILE:NAME=>PATH": only in the configuration with base name FILE. */
    const char *const *files;
    bool distrusts_configs; /* configurations may name files of their folder only (mask_config.h) */
    bool skips_nonlinear;   /* stages that are not linear are left out, not refused */
    /* an option of configurations (folder=) was given: unless is_named, the file must be one */
    bool is_about_configs;
    bool is_named; /* a configuration names the file, which must not be a configuration itself */
    struct workers *workers; /* workers that share the work; NULL: the caller works alone */
    struct mask_directions directions;
};

/* One option that was given and is about configurations, such as "folder=". */
const char *mask_config_option(const struct mask_load_options *options);

#define MASK_FILE_GIVES "=>"

/* The PATH in "NAME=>PATH": the text after the last "=>". NULL: there is none. */
const char *mask_file_given(const char *text);

/* Reads any kind of mask file. Errors: no such file, not a mask, empty, NaN or infinity, memory. */
MUST_CHECK enum status mask_load_with(const char *file, const struct mask_load_options *options,
                                      struct mask **mask);

bool mask_directions_given(const struct mask_directions *directions);

/* Whether a name has this ending, such as ".wav", in upper or lower case. */
bool mask_file_ends_with(const char *file, const char *ending);

#endif
