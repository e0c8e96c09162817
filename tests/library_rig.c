#include "library_rig.h"

#include "command.h"
#include "suite.h"

#include <math.h>
#include <string.h>

/* The same mask for the library. */
struct halo_mask *library_mask(const struct mask *mask)
{
    struct halo_path paths[64];
    struct halo_mask *result = NULL;
    struct halo_error error;
    float *samples = mask_round(mask);
    ck_assert_uint_le(mask->path_count, 64);
    for (size_t p = 0; p < mask->path_count; p++)
        paths[p] =
            (struct halo_path){mask->paths[p].input, mask->paths[p].output, mask->paths[p].column};
    const struct halo_taps taps = {sizeof taps, samples, mask->taps, mask->columns,
                                   mask->taps,  0,       paths,      mask->path_count};
    enum halo_status status =
        halo_mask_from_taps(&taps, LIBRARY_RATE, mask->inputs, &result, &error);
    ck_assert_msg(status == HALO_OK, "%s", error.text);
    free(samples);
    return result;
}

struct halo_convolver *library_convolver(const struct halo_mask *mask,
                                         const struct halo_convolver_options *options)
{
    struct halo_convolver *convolver = NULL;
    struct halo_error error;
    enum halo_status status = halo_convolver_create(mask, options, &convolver, &error);
    ck_assert_msg(status == HALO_OK, "%s", error.text);
    ck_assert_str_eq(error.text, "");
    return convolver;
}

/* Any length, mostly short. */
static size_t any_length(uint64_t *seed, size_t most)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    size_t length = 1 + (size_t)(*seed >> 33) % ((*seed >> 60) < 12 ? 130 : 3000);
    return length < most ? length : most;
}

/* Frames [from, from + count) in calls of `block` frames (0: of any), in place if that is asked. */
void library_run(struct halo_convolver *convolver, const struct block *in, struct block *out,
                 size_t from, size_t count, size_t block, bool in_place, uint64_t seed)
{
    size_t most = in->channels > out->channels ? in->channels : out->channels;
    size_t stride = 4096 + 7;
    float *x = calloc(most * stride, sizeof *x),
          *y = in_place ? x : calloc(most * stride, sizeof *y);
    for (size_t done = 0; done < count;) {
        size_t frames = block ? block : any_length(&seed, count - done);
        for (size_t c = 0; c < in->channels; c++)
            memcpy(x + c * stride, in->data[c] + from + done, frames * sizeof *x);
        ck_assert_int_eq(halo_convolver_process(convolver, x, stride, y, stride, frames), HALO_OK);
        for (size_t c = 0; c < out->channels; c++)
            memcpy(out->data[c] + from + done, y + c * stride, frames * sizeof *y);
        done += frames;
    }
    if (!in_place)
        free(y);
    free(x);
}

void library_expect(const struct block *out, double *const *truth, const struct mask *mask,
                    const struct block *in, const char *what)
{
    struct truth_error error = stream_error(out, truth, mask, in);
    ck_assert_msg(truth_error_bound_db(&error) < LIBRARY_BOUND, "%s: %.1f dB of the bound", what,
                  truth_error_bound_db(&error));
}

void library_expect_faded(const struct block *out, double *const *truth, double norm,
                          const char *what)
{
    double largest = 0;
    for (size_t c = 0; c < out->channels; c++)
        for (size_t i = 0; i < out->frames; i++)
            largest = fmax(largest, fabs(out->data[c][i] - truth[c][i]));
    ck_assert_msg(20 * log10(largest / norm) < LIBRARY_BOUND, "%s: %.1f dB of the bound", what,
                  20 * log10(largest / norm));
}

void library_refused(enum halo_status status, const struct halo_error *error,
                     enum halo_status expected, const char *text, const void *made_anyway)
{
    ck_assert_msg(status == expected && error->status == expected, "%d, not %d: %s", (int)status,
                  (int)expected, error->text);
    command_expect(error->text, text);
    ck_assert_ptr_null(strchr(error->text, '\n'));
    ck_assert_ptr_null(made_anyway);
}

struct planes planes_of(const struct block *block)
{
    struct planes planes = {.stride = block->frames + 7};
    planes.samples = calloc(block->channels * planes.stride, sizeof *planes.samples);
    for (size_t c = 0; c < block->channels; c++)
        memcpy(planes.samples + c * planes.stride, block->data[c],
               block->frames * sizeof *planes.samples);
    return planes;
}

void planes_take(const struct planes *planes, struct block *block)
{
    for (size_t c = 0; c < block->channels; c++)
        memcpy(block->data[c], planes->samples + c * planes->stride,
               block->frames * sizeof *planes->samples);
}
