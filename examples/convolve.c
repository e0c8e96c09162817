/* Filters a sound file with a mask, as `halo render IN OUT --mask MASK` does, into a WAV of floats.
 *
 *   cc convolve.c $(pkg-config --cflags --libs halo sndfile) -o convolve
 *   ./convolve voice.wav hall.wav,gain=-3 out.wav
 */
#include <halo/halo.h>
#include <sndfile.h>
#include <stdio.h>
#include <stdlib.h>

/* Interleaved samples at `from`, one every `step`, to one every `to_step`. */
static void copy(const float *from, size_t step, float *to, size_t to_step, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i * to_step] = from[i * step];
}

static int run(SNDFILE *in, const SF_INFO *format, const char *spec, const char *out)
{
    struct halo_mask *mask;
    struct halo_error error;
    size_t channels = (size_t)format->channels, frames = (size_t)format->frames;
    if (halo_mask_load(spec, (uint32_t)format->samplerate, channels, &mask, &error) != HALO_OK)
        return fprintf(stderr, "%s\n", error.text), 1;
    struct halo_mask_info info = {.size = sizeof info};
    halo_mask_describe(mask, &info);
    size_t all = frames + info.taps - 1, most = channels > info.outputs ? channels : info.outputs;
    float *mixed = malloc(most * all * sizeof *mixed), *x = malloc(channels * frames * sizeof *x),
          *y = malloc(info.outputs * all * sizeof *y);
    SF_INFO made = {.samplerate = format->samplerate,
                    .channels = (int)info.outputs,
                    .format = SF_FORMAT_WAV | SF_FORMAT_FLOAT};
    const char *why = mixed && x && y ? NULL : "not enough memory";
    if (!why && sf_readf_float(in, mixed, (sf_count_t)frames) != format->frames)
        why = "the sound cannot be read to its end";
    for (size_t c = 0; c < channels && !why; c++)
        copy(mixed + c, channels, x + c * frames, 1, frames);
    if (!why && halo_convolve(mask, x, frames, frames, y, all, all, &error) != HALO_OK)
        why = error.text;
    for (size_t c = 0; c < info.outputs && !why; c++)
        copy(y + c * all, 1, mixed + c, info.outputs, all);
    SNDFILE *file = why ? NULL : sf_open(out, SFM_WRITE, &made);
    if (!why && (!file || sf_writef_float(file, mixed, (sf_count_t)all) != (sf_count_t)all))
        why = sf_strerror(file);
    if (why)
        fprintf(stderr, "cannot make %s: %s\n", out, why);
    halo_mask_destroy(mask);
    return free(mixed), free(x), free(y), (file && sf_close(file) != 0) || why;
}

int main(int count, char **arguments)
{
    SF_INFO format = {0};
    if (count != 4)
        return fprintf(stderr, "usage: convolve IN MASK OUT\n"), 2;
    SNDFILE *in = sf_open(arguments[1], SFM_READ, &format);
    if (!in)
        return fprintf(stderr, "cannot open %s: %s\n", arguments[1], sf_strerror(NULL)), 1;
    int failed = run(in, &format, arguments[2], arguments[3]);
    sf_close(in);
    return failed;
}
