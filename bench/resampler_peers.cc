/* One resampler whose ratio follows a clock: seconds of processor per minute of stereo sound, and
 * THD+N of a tone. Built and run by resampler_peers.
 *
 *   resampler_peers halo|zita|soxr RATE_IN RATE_OUT HZ
 *
 * Each call makes 64 frames of output and changes the ratio by a millionth, as in a bridge between
 * two clocks. */
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

#include <soxr.h>
#include <zita-resampler/vresampler.h>

extern "C" {
struct variable_resampler;
int variable_resampler_create(size_t channels, double step, struct variable_resampler **resampler);
size_t variable_resampler_wants(const struct variable_resampler *resampler, size_t frames,
                                double step, double growth);
void variable_resampler_write(struct variable_resampler *resampler, const float *frames,
                              size_t count);
void variable_resampler_read(struct variable_resampler *resampler, float *const *out, size_t at,
                             size_t frames, double step, double growth);
}

enum { CHANNELS = 2, CALL = 64 };

struct source {
    std::vector<float> frames;
    size_t at;
    const float *take(size_t count)
    {
        const float *from = &frames[at * CHANNELS];
        at += count;
        return from;
    }
};

static const double DRIFT = 1.001;

static void run_halo(source &in, double step, std::vector<float> &out)
{
    struct variable_resampler *resampler;
    float left[CALL], right[CALL], *planar[] = {left, right};
    if (variable_resampler_create(CHANNELS, step, &resampler) != 0)
        exit(1);
    for (size_t call = 0; call * CALL * CHANNELS < out.size(); call++) {
        double now = step * DRIFT, growth = 0;
        size_t wants = variable_resampler_wants(resampler, CALL, now, growth);
        variable_resampler_write(resampler, in.take(wants), wants);
        variable_resampler_read(resampler, planar, 0, CALL, now, growth);
        for (size_t i = 0; i < CALL; i++) {
            out[(call * CALL + i) * CHANNELS] = left[i];
            out[(call * CALL + i) * CHANNELS + 1] = right[i];
        }
    }
}

static void run_zita(source &in, double step, std::vector<float> &out)
{
    VResampler resampler;
    if (resampler.setup(1 / step, CHANNELS, 96) != 0)
        exit(1);
    for (size_t call = 0; call * CALL * CHANNELS < out.size(); call++) {
        resampler.set_rratio(1 / DRIFT);
        resampler.out_count = CALL;
        resampler.out_data = &out[call * CALL * CHANNELS];
        while (resampler.out_count > 0) {
            resampler.inp_count = 256;
            resampler.inp_data = const_cast<float *>(&in.frames[in.at * CHANNELS]);
            resampler.process();
            in.at += 256 - resampler.inp_count;
        }
    }
}

static void run_soxr(source &in, double step, std::vector<float> &out)
{
    soxr_error_t error;
    soxr_io_spec_t io = soxr_io_spec(SOXR_FLOAT32_I, SOXR_FLOAT32_I);
    soxr_quality_spec_t quality = soxr_quality_spec(SOXR_HQ, SOXR_VR);
    soxr_t soxr = soxr_create(step * 1.05, 1, CHANNELS, &error, &io, &quality, NULL);
    if (error)
        exit(1);
    soxr_set_io_ratio(soxr, step, 0);
    size_t done = 0;
    for (size_t call = 0; done * CHANNELS < out.size(); call++) {
        soxr_set_io_ratio(soxr, step * DRIFT, CALL);
        size_t wanted = out.size() / CHANNELS - done, used = 0, made = 0;
        wanted = wanted < CALL ? wanted : CALL;
        soxr_process(soxr, &in.frames[in.at * CHANNELS], CALL, &used, &out[done * CHANNELS], wanted,
                     &made);
        in.at += used;
        done += made;
    }
    soxr_delete(soxr);
}

int main(int count, char **arguments)
{
    if (count != 5)
        return 2;
    double rate_in = atof(arguments[2]), rate_out = atof(arguments[3]), hz = atof(arguments[4]);
    size_t frames = (size_t)(60 * rate_out) / CALL * CALL;
    source in = {std::vector<float>((size_t)(66 * rate_in) * CHANNELS), 0};
    std::vector<float> out(frames * CHANNELS);
    for (size_t i = 0; i < in.frames.size(); i++)
        in.frames[i] = (float)(0.5 * sin(2 * M_PI * hz * (double)(i / CHANNELS) / rate_in));
    clock_t begin = clock();
    (strcmp(arguments[1], "halo") == 0   ? run_halo
     : strcmp(arguments[1], "zita") == 0 ? run_zita
                                         : run_soxr)(in, rate_in / rate_out, out);
    fprintf(stderr, "%.3f\n", (double)(clock() - begin) / CLOCKS_PER_SEC);
    for (size_t i = out.size() / 2; i < out.size(); i += CHANNELS)
        fwrite(&out[i], sizeof out[i], 1, stdout);
    return 0;
}
