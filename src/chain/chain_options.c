#include "chain/chain_options.h"

#include "base/decimal.h"
#include "chain/chain_file.h"
#include "chain/mask_options.h"
#include "convolve/convolver.h"
#include "plugin/isolation/plugin_sandbox.h"

#include <ctype.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ---- tempo ---- */

static const double BPM_LEAST = 1, BPM_MOST = 1000;
enum { BAR_MOST = 64, UNIT_MOST = 64 };

/* Parse a tempo. `what`: its name in messages. */
static enum status chain_tempo_parse(const char *what, const char *text, struct plugin_tempo *tempo)
{
    char *end;
    double bpm;
    unsigned long bar = 4, unit = 4;
    bool good = decimal_read(text, &end, &bpm) && bpm >= BPM_LEAST && bpm <= BPM_MOST;
    if (good && *end == ',') {
        bar = isdigit((unsigned char)end[1]) ? strtoul(end + 1, &end, 10) : 0;
        unit = *end == '/' && isdigit((unsigned char)end[1]) ? strtoul(end + 1, &end, 10) : 0;
    }
    good = good && !*end && bar >= 1 && bar <= BAR_MOST && unit >= 1 && unit <= UNIT_MOST &&
           (unit & (unit - 1)) == 0;
    if (!good)
        return fail(CAUSE_USAGE,
                    "%s is beats a minute from %g to %g, and perhaps a time signature, such as "
                    "120 or 90,6/8, not '%s'",
                    what, BPM_LEAST, BPM_MOST, text);
    *tempo = (struct plugin_tempo){.bpm = bpm, .bar = (unsigned)bar, .unit = (unsigned)unit};
    return STATUS_OK;
}

enum status chain_tempo_take(const char *text, const char *path, struct stage_list *list)
{
    struct plugin_tempo tempo, *other = &list->tempo;
    char what[PATH_MAX + 64];
    snprintf(what, sizeof what, "cannot use chain %s: its tempo", path);
    if (!text)
        return STATUS_OK;
    if (chain_tempo_parse(what, text, &tempo) != STATUS_OK)
        return STATUS_FAILED;
    list->tempos_differ |= other->bpm > 0 && (other->bpm != tempo.bpm || other->bar != tempo.bar ||
                                              other->unit != tempo.unit);
    if (other->bpm == 0)
        *other = tempo;
    return STATUS_OK;
}

/* Prints the fewest digits that give the same number when read. */
void chain_tempo_print(const struct stage_list *list, FILE *stream)
{
    char number[32];
    if (list->count == 0 || list->stages[0].settings.tempo.bpm == 0)
        return;
    const struct plugin_tempo *tempo = &list->stages[0].settings.tempo;
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(number, sizeof number, "%.*g", digits, tempo->bpm);
        if (strtod(number, NULL) == tempo->bpm)
            break;
    }
    fprintf(stream, "tempo: %s,%u/%u\n", number, tempo->bar, tempo->unit);
}

/* ---- options ---- */

enum { THREADS_MOST = 1024 };

static enum status parse_chain(void *options, const struct option_row *row, const char *value)
{
    (void)row;
    return chain_file_load(value, &((struct chain_options *)options)->stages, NULL);
}

static enum status parse_devices(void *options, const struct option_row *row, const char *value)
{
    struct chain_options *chain = options;
    return gpu_devices_parse(row->name, value, &chain->settings.convolver.gpu.devices);
}

static enum status parse_tempo(void *options, const struct option_row *row, const char *value)
{
    char name[32];
    snprintf(name, sizeof name, "--%s", row->name);
    return chain_tempo_parse(name, value, &((struct chain_options *)options)->tempo);
}

static const char *const align_names[] = {"causal", "centre", NULL};
static const char *const mode_names[] = {"auto", "resident", "graph", NULL};
static const char *const kernel_names[] = {"auto",     "basic",  "constant", "tiled", "cached",
                                           "register", "tensor", "fft",      NULL};

const struct option_row chain_options_rows[] = {
    OPT_PARSE("chain", "FILE", parse_chain, "add the stages in FILE (see halo chain --help)",
              .is_file = true),
    OPT_CHOICE("align", "ALIGN", struct chain_options, settings.align, align_names,
               "causal (default for files), or centre: time zero at the\n"
               "middle tap of the mask (default for symmetric masks such\n"
               "as lowpass:1000)",
               .value = MASK_ALIGN_CAUSAL),
    OPT_WORD("backend", "NAME", struct chain_options, settings.convolver.backend,
             "auto (default), cpu, cuda, or direct (slow; reference for\n"
             "tests)",
             .name_at = convolver_choice_name),
    OPT_CHOICE("precision", "PRECISION", struct chain_options, settings.convolver.precision,
               precision_names,
               "single or double: compute in 64 bits, with an error below\n"
               "-270 dB; default: double where IN and OUT both have samples\n"
               "of more than 24 bits, else single",
               .given = OPT_GIVEN(struct chain_options, precision_given)),
    OPT_WORD("kernel", "NAME", struct chain_options, settings.convolver.gpu.kernel,
             "GPU kernel: auto (default), basic, constant, tiled,\n"
             "cached, register (masks of up to 16384 taps), tensor\n(up to 112) or fft;\n"
             "this and the next two imply --backend cuda",
             .names = kernel_names),
    OPT_CHOICE("gpu-mode", "MODE", struct chain_options, settings.convolver.gpu.mode, mode_names,
               "auto (default): long blocks; resident or graph: short\n"
               "blocks, as for a live stream"),
    OPT_PARSE("devices", "LIST", parse_devices,
              "the GPU to use, such as 1; default: 0; halo batch takes several:\n"
              "0,2 or all"),
    OPT_VALUE("isolate", struct chain_options, settings.isolate, ISOLATE_ON,
              "run plugins in separate processes (default), so that a crash\n"
              "or hang does not affect halo; live, a failed plugin is left\n"
              "out"),
    OPT_VALUE("no-isolate", struct chain_options, settings.isolate, ISOLATE_OFF,
              "run plugins in halo's process: a crash or hang of a plugin\n"
              "then ends halo"),
    OPT_PARSE("tempo", "BPM[,BEATS/UNIT]", parse_tempo,
              "tells plugins the tempo, such as 120 or 90,6/8 (default 4/4),\n"
              "and the position, from the first frame"),
    PLUGIN_SANDBOX_ROWS,
    OPT_INTEGER("threads", "N", struct chain_options, threads, 1, THREADS_MOST,
                "threads; default: one per processor, two in a stream"),
    OPT_FLAG("allow-truncated", struct chain_options, settings.allow_truncated,
             "accept a truncated or damaged file, and say what is lost"),
    OPT_CHOICE("trust-config", "no|yes", struct chain_options, settings.distrusts_configs,
               mask_options_trust,
               "no: configurations that are masks may name files in their\n"
               "own folder only, or in the mask's folder=; yes (default):\n"
               "any regular file"),
    {0},
};

static struct option_row stage_rows[STAGE_KINDS_MOST + 1];

static void make_stage_rows(void)
{
    const struct stage_ops *ops;
    for (size_t i = 0; i < STAGE_KINDS_MOST && (ops = stage_ops_at(i)); i++)
        stage_rows[i] = (struct option_row){
            .name = ops->option,
            .argument = ops->argument,
            .help = ops->help,
            .letter = ops->letter,
            .is_file = ops->is_file,
            .keys = ops->keys,
            .made_at = ops->made_at,
        };
}

/* Makes the rows once, by pthread_once(): workers of a batch parse options at the same time. */
const struct option_row *chain_options_stages(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_stage_rows);
    return stage_rows;
}

enum status chain_options_parse_stage(void *options, const struct option_row *row,
                                      const char *value)
{
    return stage_list_add(&((struct chain_options *)options)->stages, stage_ops_named(row->name),
                          value, NULL);
}

void chain_options_free(struct chain_options *options)
{
    stage_list_free(&options->stages);
}

/* Keep to the CPU for reproducible results, since results of a GPU depend on its model. */
static enum status keep_to_cpu(struct convolver_settings *convolver, bool gpu_named)
{
    if (gpu_named || strcmp(convolver->backend, "cuda") == 0)
        return fail(CAUSE_USAGE,
                    "--reproducible needs the CPU: remove --backend cuda, --kernel, --gpu-mode "
                    "and --devices");
    if (strcmp(convolver->backend, "auto") == 0)
        convolver->backend = "cpu";
    return STATUS_OK;
}

enum status chain_options_settle_tempo(struct chain_options *options)
{
    bool given = options->tempo.bpm > 0;
    options->settings.tempo = given ? options->tempo : options->stages.tempo;
    return !given && options->stages.tempos_differ
               ? fail(CAUSE_USAGE, "the chains have different tempos; choose one by --tempo")
               : STATUS_OK;
}

enum status chain_options_check(struct chain_options *options, size_t block)
{
    TRY(chain_options_settle_tempo(options));
    struct convolver_settings *convolver = &options->settings.convolver;
    struct gpu_settings *gpu = &options->settings.convolver.gpu;
    if (gpu->kernel && strcmp(gpu->kernel, "auto") == 0)
        gpu->kernel = NULL;
    bool named = gpu->kernel || gpu->mode != GPU_MODE_AUTO || gpu_devices_are_given(&gpu->devices);
    bool other = strcmp(convolver->backend, "auto") != 0 && strcmp(convolver->backend, "cuda") != 0;
    if (named && other)
        return fail(CAUSE_USAGE, "--kernel, --gpu-mode and --devices need a GPU, not --backend %s",
                    convolver->backend);
    if (options->reproducible)
        return keep_to_cpu(convolver, named);
    if (gpu->mode == GPU_MODE_AUTO)
        return STATUS_OK;
    if (gpu->kernel)
        return fail(CAUSE_USAGE, "--kernel cannot be used with --gpu-mode resident or graph, which "
                                 "have their own kernel");
    if (block > GPU_LIVE_BLOCK_MOST)
        return fail(CAUSE_USAGE,
                    "--gpu-mode resident and graph take blocks of up to %d frames, not %zu",
                    GPU_LIVE_BLOCK_MOST, block);
    return STATUS_OK;
}
