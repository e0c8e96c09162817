/* libhalo: convolves sound with filter masks (impulse responses), in buffers and block by block.
 *
 *   struct halo_mask *mask;
 *   struct halo_error error;
 *   if (halo_mask_load("hall.wav,gain=-3", 48000, 2, &mask, &error) != HALO_OK)
 *       puts(error.text);
 *
 * Samples are float32 with full scale -1..1. Channel c of a buffer begins at buffer + c * stride,
 * with the stride in floats. A frame is one sample of each channel.
 * Convolution is true convolution: y[i] = sum over k of x[i - k] h[k]. The error of an output,
 * against a sum in double precision, stays below -130 dB of max|x| sum|h|.
 *
 * Objects are opaque and have one owner, which destroys them. The destroy functions ignore NULL.
 * Masks do not change, so any number of threads and convolvers may use a mask at once. A convolver
 * belongs to one processing thread and one control thread, which may be the same. Each function
 * states which of them may call it.
 *
 * Errors: a function that can fail returns its status. If it fails, it makes no object, and writes
 * a line to *error, unless `error` is NULL. The line says what failed, why, and what to do. Nothing
 * is printed, and nothing ends the process. If memory runs out, HALO_NO_MEMORY is returned.
 *
 * The library has no state that a caller sets. Measurements of the machine are kept in
 * $XDG_CACHE_HOME/halo or ~/.cache/halo. Libraries for files
 * (libsndfile and others) are opened when they are first needed, and stay. SOFA files are read in a
 * child process. No signal handler is installed, and neither locale nor working folder is touched.
 *
 * Determinism: on one machine, the same input gives the same output bit for bit, no matter how many
 * frames each call of halo_convolver_process has. On a GPU, and between machines, outputs are equal
 * within the error above.
 *
 * Licence: this library is under the MIT License. It links or opens only libraries under permissive
 * licences or the GNU Lesser General Public License.
 *
 * Versions: a program that was built with an older version runs with a newer one of the same major
 * version. Structs that begin with `size` may grow. Set `size` to sizeof the struct, and members
 * that you do not use to 0.
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

/* Return the version of the library that runs, as text ("0.2.0") or as a number like
 * HALO_VERSION_NUMBER. Threads: any. Real-time. */
HALO_API const char *halo_version(void);
HALO_API unsigned halo_version_number(void);

enum halo_status {
    HALO_OK = 0,
    /* A file or a mask cannot be used, or a part of this machine failed, such as a GPU. */
    HALO_FAILED = 1,
    HALO_USAGE = 2, /* an argument or a spec is wrong */
    /* no memory or threads, or no memory on a GPU; try later, or with shorter masks */
    HALO_NO_MEMORY = 3,
    HALO_BUSY = 4,   /* the previous switch is not over */
    HALO_NO_GPU = 5, /* no GPU is usable, or the library was built without CUDA */
};

enum { HALO_ERROR_BYTES = 1024 };

/* Describes an error. `text` ends with 0 and has no newline; "" after HALO_OK. */
struct halo_error {
    enum halo_status status;
    char text[HALO_ERROR_BYTES];
};

/* ---- masks ---- */

enum { HALO_CHANNELS_MOST = 256, HALO_RATE_MOST = 10000000 };

/* Filters for the channels of a sound: impulse responses (columns), and the paths from inputs
 * through columns to outputs. Immutable. */
struct halo_mask;

/* Read or make a mask for a sound of `channels` (1 to HALO_CHANNELS_MOST) at `rate` (Hz, 1 to
 * HALO_RATE_MOST). The mask is resampled to that rate. The spec is that of `halo render --mask`: a
 * file with options, "hall.wav,gain=-3,trim=10ms" (write a comma in a name as "\,"), or a filter to
 * make, "lowpass:3000,taps=255". Files are sound files, text, SOFA files, and configurations of
 * other programs. A configuration may name further files; with the option trust-config=no they must
 * be in its own folder. Threads: any. Not real-time. */
HALO_API enum halo_status halo_mask_load(const char *spec, uint32_t rate, size_t channels,
                                         struct halo_mask **mask, struct halo_error *error);

/* Read a mask from a file with any name and without options. Otherwise like halo_mask_load. */
HALO_API enum halo_status halo_mask_load_file(const char *file, uint32_t rate, size_t channels,
                                              struct halo_mask **mask, struct halo_error *error);

/* A path of a mask; all numbers count from 0. Paths to the same output add up. Several paths may
 * share a column. */
struct halo_path {
    size_t input, output, column;
};

/* Impulse responses in memory. If `paths` is NULL, they follow from the counts:
 * - one column filters every channel
 * - as many columns as channels filter one channel each
 * - four columns for two channels are left to left, left to right, right to left, right to right
 * - several columns for one channel make as many outputs
 * With paths, there are as many outputs as the highest one, and inputs without a path are
 * silent. */
struct halo_taps {
    size_t size; /* sizeof(struct halo_taps) */
    const float *samples;
    size_t stride; /* floats from one column to the next */
    size_t columns, taps;
    uint32_t rate;                 /* Hz; 0: the rate of the sound */
    const struct halo_path *paths; /* `path_count` paths; NULL: see above */
    size_t path_count;
};

/* Make a mask of impulse responses in memory, which are copied, for a sound of `channels` at
 * `rate`. Errors: HALO_USAGE: counts that do not fit, samples that are not finite. Threads: any.
 * Not real-time. */
HALO_API enum halo_status halo_mask_from_taps(const struct halo_taps *taps, uint32_t rate,
                                              size_t channels, struct halo_mask **mask,
                                              struct halo_error *error);

/* Read or make a mask like halo_mask_load, at its own rate and for as many channels as fit it.
 * Options of the spec apply. Filters to make have 48000 Hz. halo_mask_describe tells the rate, or 0
 * if the file states none. Threads: any. Not real-time. */
HALO_API enum halo_status halo_mask_read(const char *spec, struct halo_mask **mask,
                                         struct halo_error *error);

/* Free a mask. No call may be using it; convolvers do not need the masks that they were made with.
 * Threads: any. */
HALO_API void halo_mask_destroy(struct halo_mask *mask);

/* Properties of a mask. */
struct halo_mask_info {
    size_t size; /* set it to sizeof(struct halo_mask_info) before the call */
    size_t inputs, outputs, columns, paths;
    size_t taps;   /* taps of each column, at `rate` */
    size_t origin; /* tap that is time zero: 0, or the middle of a symmetric filter */
    uint32_t rate; /* Hz; 0: unknown, after halo_mask_read */
};

/* Describe a mask. Writes info->size bytes. Threads: any. Real-time. */
HALO_API void halo_mask_describe(const struct halo_mask *mask, struct halo_mask_info *info);

/* Copy the taps of a column, info.taps floats, to `taps`. The column must exist. Threads: any.
 * Real-time. */
HALO_API void halo_mask_taps(const struct halo_mask *mask, size_t column, float *taps);

/* Return the notes that the halo program prints about such a mask, for users. They tell, for
 * example, that it was resampled, or what of a configuration was left out. Lines without a newline
 * at the end; "" if there are none. Valid as long as the mask. Threads: any. */
HALO_API const char *halo_mask_notes(const struct halo_mask *mask);

/* ---- buffers ---- */

/* A sound of `frames` frames, and the place for its output. Output frame i is the sum over k of
 * in[i + origin - k] h[k], with silence before and after the input. From time zero on, frames +
 * taps - 1 - origin frames can be heard; if more are requested, they are silent. The buffers must
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
    size_t threads;      /* 0: one per processor */
};

/* Convolve `count` sounds with one mask, which is prepared once. `options`: NULL for the defaults.
 * If a sound has samples that are not finite, only its own output is affected. Errors: HALO_USAGE,
 * HALO_NO_MEMORY, HALO_FAILED, HALO_NO_GPU if "cuda" is requested; outputs are undefined then.
 * Threads: any, also several at once with one mask. Threads that the call starts end before it
 * returns. Not real-time. */
HALO_API enum halo_status halo_convolve_many(const struct halo_mask *mask,
                                             const struct halo_job *jobs, size_t count,
                                             const struct halo_convolve_options *options,
                                             struct halo_error *error);

/* Convolve one sound, like halo_convolve_many with its defaults. */
HALO_API enum halo_status halo_convolve(const struct halo_mask *mask, const float *in,
                                        size_t in_stride, size_t frames, float *out,
                                        size_t out_stride, size_t out_frames,
                                        struct halo_error *error);

/* ---- arrays ---- */

/* Type of an array's samples. Halves are computed in single precision, HALO_FLOAT64 in double. */
enum halo_sample { HALO_FLOAT32, HALO_FLOAT64, HALO_FLOAT16, HALO_BFLOAT16 };

/* `count` convolutions. Array number j of x begins at x + j * x_step, with the step in samples; so
 * do those of h and y. With x_step or h_step 0, all convolutions use one array; y_step 0 is for a
 * count of 1. Samples of an array are adjacent, and aligned to their own size. Arrays of y do not
 * overlap others.
 * The whole convolution is c[n] = sum over k of x[n - k] h[k], 0 <= n < frames + taps - 1. With
 * options.correlate, h is read backwards: c[n] = sum over k of x[n - k] h[taps - 1 - k]. The result
 * is y[i] = c[first + i], 0 <= i < out_frames. Where c has no such sample, y[i] is 0. frames, taps
 * and out_frames may be 0. */
struct halo_arrays {
    size_t size; /* sizeof(struct halo_arrays) */
    const void *x;
    size_t frames;
    ptrdiff_t x_step;
    const void *h;
    size_t taps;
    ptrdiff_t h_step;
    void *y;
    size_t first, out_frames;
    ptrdiff_t y_step;
    size_t count;
};

struct halo_arrays_options {
    size_t size; /* sizeof(struct halo_arrays_options) */
    enum halo_sample sample;
    bool correlate;
    size_t threads; /* memory of the host: most threads; 0: one per processor */
    bool on_device; /* arrays are in the memory of the current CUDA device */
    void *stream;   /* device: cudaStream_t or CUstream; NULL is the default stream */
    /* device: memory that work on the stream may use; aligned to 256 bytes. NULL: the call
     * allocates memory in stream order. */
    void *scratch;
    size_t scratch_bytes; /* bytes of `scratch`, at least those of halo_arrays_scratch */
};

/* Compute the bytes of scratch that halo_arrays_convolve needs for these arrays: 0 in memory of the
 * host. Errors: HALO_USAGE, HALO_NO_GPU, HALO_NO_MEMORY. Threads: any. Not real-time. */
HALO_API enum halo_status halo_arrays_scratch(const struct halo_arrays *arrays, size_t groups,
                                              const struct halo_arrays_options *options,
                                              size_t *bytes, struct halo_error *error);

/* Convolve `groups` groups of arrays. `options`: NULL for the defaults. Errors of float32 stay
 * below -120 dB of max|x| sum|h|, those of float64 below -270 dB; halves are rounded once more. On
 * a device, the call queues the work and does not wait for it; errors that occur later are returned
 * by the CUDA call that synchronises. Errors: HALO_USAGE, HALO_NO_MEMORY, HALO_FAILED; HALO_NO_GPU,
 * also if the library was built without CUDA. Threads: any, also several at once, and in a process
 * that was forked. Threads that the call starts end before it returns. Not real-time. */
HALO_API enum halo_status halo_arrays_convolve(const struct halo_arrays *arrays, size_t groups,
                                               const struct halo_arrays_options *options,
                                               struct halo_error *error);

/* ---- buffers of a GPU ---- */

/* A mask on an NVIDIA GPU, for sounds in the GPU's memory. Errors of outputs stay below -125 dB of
 * max|x| sum|h|. */
struct halo_device_convolver;

/* Prepare a mask on the current CUDA device, for outputs of at most `frames` frames. The mask may
 * be destroyed afterwards. Errors: HALO_NO_GPU, also if the library was built without CUDA;
 * HALO_NO_MEMORY, HALO_FAILED: memory of the device, a mask that is too long for it. Threads: any,
 * one at a time. Not real-time: it waits for the device. */
HALO_API enum halo_status halo_device_convolver_create(const struct halo_mask *mask, size_t frames,
                                                       struct halo_device_convolver **convolver,
                                                       struct halo_error *error);

/* Free a device convolver, when all work that was queued is done. Threads: any, one at a time. Not
 * real-time. */
HALO_API void halo_device_convolver_destroy(struct halo_device_convolver *convolver);

/* Convolve `count` sounds in device memory, each as halo_convolve_many does. `stream` is a
 * cudaStream_t or CUstream of the device; NULL is the default stream. Channels must begin at
 * multiples of 16 bytes. The work is queued on the stream, and the call does not wait for it. Do
 * not change the buffers before the work is done. Errors that occur later are returned by the CUDA
 * call that synchronises. Calls with the same convolver follow one another, even on different
 * streams. Several convolvers may work at once. Errors: HALO_USAGE: buffers that do not fit;
 * HALO_FAILED: an error of the driver. Threads: any, one at a time for each convolver. Not
 * real-time. */
HALO_API enum halo_status halo_device_convolver_run(struct halo_device_convolver *convolver,
                                                    const struct halo_job *jobs, size_t count,
                                                    void *stream, struct halo_error *error);

/* ---- block by block ---- */

/* Convolves a stream: input history and a current mask. Output frame i is the sum over k of in[i -
 * k] h[k]. The call that reads input frame i also writes output frame i. So the only latency is
 * that of the mask: its time zero is `origin` frames late. */
struct halo_convolver;

struct halo_convolver_options {
    size_t size;         /* sizeof(struct halo_convolver_options) */
    const char *backend; /* "auto", "cpu", "cuda" or "direct"; NULL: "auto", which is the CPU */
    /* frames of every call; 0: calls have any number of frames, which costs a little more */
    size_t block;
    size_t taps; /* most taps of later masks; 0: as many as the first mask has */
    /* threads that share the work of long masks, including the caller's; 0: only the caller's. They
     * live as long as the convolver. */
    size_t threads;
};

/* Make a convolver for a mask, which may be destroyed afterwards. `options`: NULL for the defaults.
 * If a GPU fails later, the CPU takes over within the block. Errors: HALO_USAGE, HALO_NO_MEMORY,
 * HALO_NO_GPU, HALO_FAILED. Threads: any. Not real-time. */
HALO_API enum halo_status halo_convolver_create(const struct halo_mask *mask,
                                                const struct halo_convolver_options *options,
                                                struct halo_convolver **convolver,
                                                struct halo_error *error);

/* Free a convolver that no other call is using. Threads: any. Not real-time. */
HALO_API void halo_convolver_destroy(struct halo_convolver *convolver);

/* Convolve the next `frames` frames of input. `out` may be `in` with the same stride; otherwise
 * they must not overlap. Samples that are not finite spoil the output until halo_convolver_reset.
 * Errors: HALO_USAGE: the frames are not a multiple of options.block; then nothing is done.
 * Threads: the processing thread. Real-time: it allocates nothing, takes no lock, opens no file and
 * prints nothing. It waits for a GPU, but not longer than the CPU would need instead. */
HALO_API enum halo_status halo_convolver_process(struct halo_convolver *convolver, const float *in,
                                                 size_t in_stride, float *out, size_t out_stride,
                                                 size_t frames);

/* Convolve the next frames, with a pointer for each channel. Otherwise like
 * halo_convolver_process. */
HALO_API enum halo_status halo_convolver_process_channels(struct halo_convolver *convolver,
                                                          const float *const *in, float *const *out,
                                                          size_t frames);

/* Crossfade to another mask, linearly over `fade` frames, from input frame `at` on. Each mask
 * sounds as if it had been used from the beginning. 0, or any past frame, means as soon as
 * possible. The crossfade may begin later than `at`, if the new mask's output for earlier sound is
 * not computed in time; halo_convolver_switched tells when it began. The mask must have the inputs
 * and outputs of the first mask, and at most options.taps taps. It may be destroyed afterwards.
 * Errors (the old mask stays): HALO_BUSY; HALO_USAGE: the mask does not fit; HALO_NO_MEMORY.
 * Threads: the control thread, while the processing thread may run. Not real-time. */
HALO_API enum halo_status halo_convolver_switch(struct halo_convolver *convolver,
                                                const struct halo_mask *mask, uint64_t at,
                                                uint64_t fade, struct halo_error *error);

/* Tell whether no switch is under way. If so, *at (unless NULL) is the frame where the last switch
 * began. Threads: the control thread. Real-time. */
HALO_API bool halo_convolver_switched(const struct halo_convolver *convolver, uint64_t *at);

/* Forget all sound, and count input frames from 0 again. A switch is completed at once. Threads:
 * any, while no other call is using the convolver. Not real-time. */
HALO_API void halo_convolver_reset(struct halo_convolver *convolver);

/* Name the backend that computes, such as "cpu", or its algorithm; for users. Valid as long as the
 * convolver. Threads: the control thread. */
HALO_API const char *halo_convolver_backend(const struct halo_convolver *convolver);
HALO_API const char *halo_convolver_algorithm(const struct halo_convolver *convolver);

#ifdef __cplusplus
}
#endif

#endif
