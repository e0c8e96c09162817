/* libhalo: convolves sound with filter masks (impulse responses), in buffers and block by block.
 *
 *   struct halo_mask *mask;
 *   struct halo_error error;
 *   if (halo_mask_load("hall.wav,gain=-3", 48000, 2, &mask, &error) != HALO_OK)
 *       puts(error.text);
 *
 * Samples are float32, full scale is -1..1, in planes: channel c of a buffer begins at
 * buffer + c * stride, the stride counted in floats. Frames are samples of all channels.
 * Convolution is true convolution: y[i] = sum over k of x[i - k] h[k]. Against a sum in double
 * precision the error of a single output stays below -130 dB of max|x| sum|h|.
 *
 * Objects are opaque and have one owner, which destroys them; NULL is allowed there. Masks do not
 * change: any number of threads and convolvers may use one at once. A convolver belongs to one
 * processing thread and one control thread, which may be the same; each function says whose it is.
 *
 * Errors: a function that can fail returns its status and writes a line that says what failed, why
 * and what to do to *error, where that is not NULL, and makes no object. Nothing is printed, and
 * nothing ends the process. HALO_NO_MEMORY is returned where memory runs out.
 *
 * The library has no state that a caller sets. What was measured of the machine is kept in
 * $XDG_CACHE_HOME/halo or ~/.cache/halo. Libraries for files
 * (libsndfile and others) are opened when they are first needed, and stay. SOFA files are read in a
 * child process. No signal handler is installed, and neither locale nor working folder is touched.
 *
 * Determinism: the same calls give the same samples to the bit on one machine, however many frames
 * each call of halo_convolver_process has; on a GPU and among machines within the error above.
 *
 * Licence: this library is under the MIT License. It links or opens libraries under permissive
 * licences and the GNU Lesser General Public License alone.
 *
 * Versions: a program that was built with an older version of one major version runs with a newer
 * one. Structs that begin with `size` may grow: set it by sizeof, and the rest of what you do not
 * use to 0.
 */
#ifndef HALO_HALO_H
#define HALO_HALO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HALO_VERSION_MAJOR 0
#define HALO_VERSION_MINOR 2
#define HALO_VERSION_PATCH 0
#define HALO_VERSION_NUMBER                                                                        \
    (HALO_VERSION_MAJOR * 10000 + HALO_VERSION_MINOR * 100 + HALO_VERSION_PATCH)

#ifdef HALO_BUILDS_LIBRARY
#define HALO_API __attribute__((visibility("default")))
#else
#define HALO_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- versions and errors ---- */

/* The version of the library that runs, "0.2.0"; and as a number like HALO_VERSION_NUMBER. Threads:
 * any. Real-time. */
HALO_API const char *halo_version(void);
HALO_API unsigned halo_version_number(void);

enum halo_status {
    HALO_OK = 0,
    HALO_FAILED = 1,    /* a file, a mask, or a part of this machine, such as a GPU that is there */
    HALO_USAGE = 2,     /* an argument or a spec is wrong */
    HALO_NO_MEMORY = 3, /* or no thread, or none on a GPU; try later, or with shorter masks */
    HALO_BUSY = 4,      /* the last switch is not over */
    HALO_NO_GPU = 5,    /* none is usable, or this library is built without */
};

enum { HALO_ERROR_BYTES = 1024 };

/* The text ends with 0 and has no newline; "" after HALO_OK. */
struct halo_error {
    enum halo_status status;
    char text[HALO_ERROR_BYTES];
};

/* ---- masks ---- */

enum { HALO_CHANNELS_MOST = 256, HALO_RATE_MOST = 10000000 };

/* Filters the channels of a sound: impulse responses, and the paths that lead from its inputs
 * through them to its outputs. Immutable. */
struct halo_mask;

/* Read or make a mask for a sound of `channels` (1 to HALO_CHANNELS_MOST) at `rate` (Hz, 1 to
 * HALO_RATE_MOST), to which it is resampled. The spec is that of `halo render --mask`: a file with
 * options, "hall.wav,gain=-3,trim=10ms" (a comma in a name is written "\,"), or a made one,
 * "lowpass:3000,taps=255". Files are sound files, text, SOFA files, and configurations of other
 * programs, which name further files; with the option trust-config=no only in their own folder.
 * Threads: any. Not real-time. */
HALO_API enum halo_status halo_mask_load(const char *spec, uint32_t rate, size_t channels,
                                         struct halo_mask **mask, struct halo_error *error);

/* Read a mask from a file with any name and without options; otherwise as halo_mask_load. */
HALO_API enum halo_status halo_mask_load_file(const char *file, uint32_t rate, size_t channels,
                                              struct halo_mask **mask, struct halo_error *error);

/* From 0. Paths to one output add up; several may share a column. */
struct halo_path {
    size_t input, output, column;
};

/* Impulse responses in memory. Without paths: one column filters every channel; as many as there
 * are channels filter one each; four for two channels are left to left, left to right, right to
 * left, right to right; and several for one channel make as many outputs. With paths the outputs
 * are those up to the highest, and inputs without a path are not heard. */
struct halo_taps {
    size_t size; /* sizeof(struct halo_taps) */
    const float *samples;
    size_t stride; /* floats from column to column */
    size_t columns, taps;
    uint32_t rate;                 /* Hz; 0: that of the sound */
    const struct halo_path *paths; /* path_count of them; NULL: by the counts */
    size_t path_count;
};

/* Make a mask of samples in memory, which are copied, for a sound of `channels` at `rate`. Errors:
 * HALO_USAGE: counts that do not fit, samples that are not finite. Threads:
 * any. Not real-time. */
HALO_API enum halo_status halo_mask_from_taps(const struct halo_taps *taps, uint32_t rate,
                                              size_t channels, struct halo_mask **mask,
                                              struct halo_error *error);

/* Free a mask that no call uses; convolvers do not need the masks that they were made with.
 * Threads: any. */
HALO_API void halo_mask_destroy(struct halo_mask *mask);

struct halo_mask_info {
    size_t size; /* set it to sizeof(struct halo_mask_info) before the call */
    size_t inputs, outputs, columns, paths;
    size_t taps;   /* of the longest column, at the rate of the sound */
    size_t origin; /* the tap that is time zero: 0, but the middle one of a symmetric filter */
    uint32_t rate; /* Hz */
};

/* Describe a mask, in as many bytes as info->size says. Threads: any. Real-time. */
HALO_API void halo_mask_describe(const struct halo_mask *mask, struct halo_mask_info *info);

/* Say what the program prints about such a mask, for users: that it was resampled, what of a
 * configuration was left out. Lines, without a newline at the end; "": nothing. As long as the mask
 * lives. Threads: any. */
HALO_API const char *halo_mask_notes(const struct halo_mask *mask);

/* ---- buffers ---- */

/* A sound of `frames` frames, and where its output goes. Output frame i is the sum over k of
 * in[i + origin - k] h[k], the input being silent outside: all that is heard from time zero on are
 * frames + taps - 1 - origin frames, and what is asked for beyond these is silence. The buffers do
 * not overlap. */
struct halo_job {
    const float *in;
    size_t in_stride;
    size_t frames;
    float *out;
    size_t out_stride;
    size_t out_frames;
};

struct halo_convolve_options {
    size_t size;         /* sizeof(struct halo_convolve_options) */
    const char *backend; /* "auto", "cpu", "cuda" or "direct"; NULL: "auto" */
    size_t threads;      /* 0: one for every processor */
};

/* Convolve `count` sounds with one mask, which is prepared once. `options`: NULL for the defaults.
 * Errors: HALO_USAGE, HALO_NO_MEMORY, HALO_FAILED, HALO_NO_GPU where "cuda" is asked for; outputs
 * are undefined then. Samples that are not finite spoil outputs of their sound alone. Threads: any,
 * also with one mask on many at once; none of those that it starts outlives the call. Not
 * real-time. */
HALO_API enum halo_status halo_convolve_many(const struct halo_mask *mask,
                                             const struct halo_job *jobs, size_t count,
                                             const struct halo_convolve_options *options,
                                             struct halo_error *error);

/* Convolve one sound, as halo_convolve_many does with its defaults. */
HALO_API enum halo_status halo_convolve(const struct halo_mask *mask, const float *in,
                                        size_t in_stride, size_t frames, float *out,
                                        size_t out_stride, size_t out_frames,
                                        struct halo_error *error);

/* ---- buffers of a GPU ---- */

/* A mask on an NVIDIA GPU, for sounds that are in its memory. Errors stay below -125 dB of max|x|
 * sum|h|. */
struct halo_device_convolver;

/* Prepare a mask on the current CUDA device, for outputs of at most `frames` frames. The mask may
 * be destroyed afterwards. Errors: HALO_NO_GPU, also where the library is built without CUDA;
 * HALO_NO_MEMORY, HALO_FAILED: memory of the device, a mask that is too long for it. Threads: any,
 * one at a time. Not real-time: it waits for the device. */
HALO_API enum halo_status halo_device_convolver_create(const struct halo_mask *mask, size_t frames,
                                                       struct halo_device_convolver **convolver,
                                                       struct halo_error *error);

/* Free it, once all that was queued is done. Threads: any, one at a time. Not real-time. */
HALO_API void halo_device_convolver_destroy(struct halo_device_convolver *convolver);

/* Convolve `count` sounds in device memory, each as halo_convolve_many does, on a stream of the
 * caller: a cudaStream_t or CUstream of the device; NULL is the default stream. Channels begin at
 * multiples of 16 bytes. The work is queued in the order of the stream, and the call does not wait
 * for it: buffers stay as they are until it is done, and errors that come later are found by who
 * synchronises. Calls with one convolver follow one another on their streams; several convolvers
 * may work at once. Errors: HALO_USAGE: buffers that do not fit; HALO_FAILED: what the driver says.
 * Threads: any, one at a time for each convolver. Not real-time. */
HALO_API enum halo_status halo_device_convolver_run(struct halo_device_convolver *convolver,
                                                    const struct halo_job *jobs, size_t count,
                                                    void *stream, struct halo_error *error);

/* ---- block by block ---- */

/* Input history and a current mask. Output frame i is the sum over k of in[i - k] h[k], written by
 * the same call that reads input frame i: there is no latency but that of the mask itself, whose
 * time zero is heard after `origin` frames. */
struct halo_convolver;

struct halo_convolver_options {
    size_t size;         /* sizeof(struct halo_convolver_options) */
    const char *backend; /* "auto", "cpu", "cuda" or "direct"; NULL: "auto", which is the CPU */
    size_t block;        /* frames of every call; 0: calls have any number of frames, for a little
                            more work */
    size_t taps;         /* of the longest mask to come; 0: those of the first */
    size_t threads;      /* that share the work of long masks, of which the caller's is one; 0: it
                            alone. The others live as long as the convolver. */
};

/* Make a convolver for a mask, which may be destroyed afterwards. `options`: NULL for the defaults.
 * A GPU that fails later hands over to the CPU within the block. Errors: HALO_USAGE,
 * HALO_NO_MEMORY, HALO_NO_GPU, HALO_FAILED. Threads: any. Not real-time. */
HALO_API enum halo_status halo_convolver_create(const struct halo_mask *mask,
                                                const struct halo_convolver_options *options,
                                                struct halo_convolver **convolver,
                                                struct halo_error *error);

/* Free a convolver that no other call uses. Threads: any. Not real-time. */
HALO_API void halo_convolver_destroy(struct halo_convolver *convolver);

/* Convolve the next `frames` frames of input. `out` may be `in`, with the same stride, and
 * may not overlap it otherwise. Errors: HALO_USAGE: the frames are no multiple of options.block;
 * nothing is done then. Samples that are not finite are heard as such until halo_convolver_reset.
 * Threads: the processing thread. Real-time: it allocates nothing, takes no lock, opens no file and
 * prints nothing; it waits for a GPU, but not longer than the CPU beside it needs. */
HALO_API enum halo_status halo_convolver_process(struct halo_convolver *convolver, const float *in,
                                                 size_t in_stride, float *out, size_t out_stride,
                                                 size_t frames);

/* Convolve the next frames, given by a pointer for each channel; otherwise as
 * halo_convolver_process. */
HALO_API enum halo_status halo_convolver_process_channels(struct halo_convolver *convolver,
                                                          const float *const *in, float *const *out,
                                                          size_t frames);

/* Crossfade to another mask over `fade` frames, linearly, from input frame `at` on: as if both had
 * been heard from the beginning. 0, or any frame that is past: as soon as possible. It begins later
 * where what the new mask makes of earlier sound is not computed by then; halo_convolver_switched
 * says when it began. The mask has the inputs and outputs of the first and no more taps than
 * options.taps, and may be destroyed afterwards. Errors: HALO_BUSY, HALO_USAGE: the mask does not
 * fit, HALO_NO_MEMORY; the old mask stays. Threads: the control thread, while the other one
 * processes. Not real-time. */
HALO_API enum halo_status halo_convolver_switch(struct halo_convolver *convolver,
                                                const struct halo_mask *mask, uint64_t at,
                                                uint64_t fade, struct halo_error *error);

/* Say whether no switch is under way. *at, unless NULL: the frame where the last one began, if it
 * is over. Threads: the control thread. Real-time. */
HALO_API bool halo_convolver_switched(const struct halo_convolver *convolver, uint64_t *at);

/* Forget all sound, and count input frames from 0 again; a switch is over at once. Threads: any,
 * while no other call uses it. Not real-time. */
HALO_API void halo_convolver_reset(struct halo_convolver *convolver);

/* Name what computes it, for users: "cpu", and how. As long as the convolver lives. Threads: the
 * control thread. */
HALO_API const char *halo_convolver_backend(const struct halo_convolver *convolver);
HALO_API const char *halo_convolver_algorithm(const struct halo_convolver *convolver);

#ifdef __cplusplus
}
#endif

#endif
