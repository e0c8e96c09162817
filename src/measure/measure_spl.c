#include "base/json_text.h"
#include "base/monotonic.h"
#include "base/stop.h"
#include "live/web/spectrum.h"
#include "measure/measure_options.h"
#include "measure/take.h"

#include <math.h>
#include <stdio.h>

enum { STEADY = 20 /* readings */ };
static const int64_t READ_NS = 100000000;
static const double STEADY_DB = 0.2, WAIT = 15 /* seconds */, QUIET_DB = -70;
static const double PURE = 0.8; /* share of the loudest bands in the power */

/* The share of the loudest band and its neighbours in all power: near 1 for a tone. */
static double share_of_tone(const float *db)
{
    size_t loudest = 0;
    double all = 0, tone = 0;
    for (size_t i = 0; i < SPECTRUM_BANDS; i++)
        loudest = db[i] > db[loudest] ? i : loudest;
    for (size_t i = 0; i < SPECTRUM_BANDS; i++) {
        double power = pow(10, (double)db[i] / 10);
        all += power;
        if (i + 2 >= loudest && i <= loudest + 2)
            tone += power;
    }
    return all > 0 ? tone / all : 0;
}

/* Reads the level until it is steady for two seconds. In dB of a full-scale sine. */
static enum status read_level(struct device *device, struct take *take, double *level)
{
    double levels[STEADY];
    double end = monotonic_seconds() + WAIT;
    for (size_t count = 0; monotonic_seconds() < end; count++) {
        struct meter_reading reading[DEVICE_CHANNELS_MOST];
        double least = INFINITY, most = -INFINITY;
        if (stop_requested())
            return fail(CAUSE_INTERRUPTED, "stopped");
        if (device_state(device) != DEVICE_RUNNING)
            return fail(CAUSE_DEVICE, "the device was lost");
        monotonic_sleep_until(monotonic_ns() + READ_NS);
        meter_read(take->meter, reading);
        *level = audio_to_db(M_SQRT2 * (double)reading[0].rms);
        levels[count % STEADY] = *level;
        for (size_t i = 0; i < STEADY && count >= STEADY; i++) {
            least = fmin(least, levels[i]);
            most = fmax(most, levels[i]);
        }
        if (count >= STEADY && most - least < STEADY_DB && least > QUIET_DB)
            return STATUS_OK;
    }
    return fail(CAUSE_OTHER,
                "input %zu hears no steady tone: is the calibrator on, and on the "
                "microphone of this input (--input-map)?",
                take->plan.input_of[0]);
}

static enum status find_full_scale(const struct measure_options *options, struct device *device,
                                   struct take *take)
{
    struct spectrum *spectrum;
    float db[SPECTRUM_BANDS];
    double level = 0;
    TRY(read_level(device, take, &level));
    TRY(spectrum_create(take->plan.inputs, take->plan.rate_in, &spectrum));
    double end = monotonic_seconds() + WAIT;
    bool is_read;
    while (!(is_read = spectrum_read(spectrum, &take->heard, db)) && monotonic_seconds() < end &&
           !stop_requested())
        monotonic_sleep_until(monotonic_ns() + READ_NS); /* the lowest bands take four seconds */
    spectrum_destroy(spectrum);
    bool is_tone = is_read && share_of_tone(db) > PURE;
    if (!is_tone)
        return fail(CAUSE_OTHER, "input %zu hears noise, not a calibrator's tone",
                    take->plan.input_of[0]);
    double full_scale = options->calibrator - level;
    if (options->play.json)
        return json_print(json_pack("{s:f, s:f}", "level_db", level, "full_scale_db", full_scale),
                          JSON_REAL_PRECISION(6), "the level");
    printf("the tone is at %.1f dB of full scale: measure with --full-scale %.1f\n", level,
           full_scale);
    return STATUS_OK;
}

static enum status listen_to(const struct measure_options *options, struct device *device,
                             size_t channel)
{
    struct device_info info;
    struct take *take;
    device_info(device, &info);
    struct take_plan plan = {.inputs = 1,
                             .input_of = {channel},
                             .rate_in = info.rate,
                             .repeats = 1,
                             .pause = 1,
                             .checked = true,
                             .mark = TAKE_NONE,
                             .reference = TAKE_NONE,
                             .reference_output = TAKE_NONE};
    TRY(sweep_init(&plan.sweep, 1, 100, 1000, info.rate));
    TRY(take_create(&plan, NULL, &take));
    device_run(device, take_record_step, take);
    enum status status = find_full_scale(options, device, take);
    if (device_stop(device))
        take_destroy(take);
    return status;
}

enum status measure_spl(const struct measure_options *options)
{
    struct device_request request = options->play.device;
    size_t channel = options->play.input_map.count ? options->play.input_map.values[0] : 1;
    struct device *device;
    request.wants_input = true;
    request.wants_output = false;
    request.output = NULL;
    request.input_map = &channel;
    request.input_map_count = 1;
    request.channels_in = 0;
    request.output_map_count = 0;
    TRY(device_open(&request, &device));
    enum status status = listen_to(options, device, channel);
    enum status closed = device_close(device);
    return status == STATUS_OK ? closed : status;
}
