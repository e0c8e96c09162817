/* The configurations of other programs that say what a mask says, and the files they name. */
#include "mask/mask_write.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BRUTEFIR_BLOCK = 4096, JCONVOLVER_PARTITION = 256 };

/* `path` with another ending; the part a configuration beside it would name is *name. */
static enum status name_beside(const char *path, const char *ending, size_t number, char **beside,
                               const char **name)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    bool has_ending = dot && dot > path && (!slash || dot > slash + 1);
    int stem = has_ending ? (int)(dot - path) : (int)strlen(path);
    int length = number ? asprintf(beside, "%.*s-%zu%s", stem, path, number, ending)
                        : asprintf(beside, "%.*s%s", stem, path, ending);
    if (length < 0)
        return fail_memory("writing a mask");
    slash = strrchr(*beside, '/');
    *name = slash ? slash + 1 : *beside;
    if (strpbrk(*name, "\"\\\n\r#$")) {
        free(*beside);
        return fail(STATUS_USAGE, "a configuration cannot name a file like %s", path);
    }
    return STATUS_OK;
}

/* Before the first file is written, so that a refusal leaves none. */
static enum status check_free(const char *path, const struct mask_write_settings *settings)
{
    return settings->force || access(path, F_OK) != 0
               ? STATUS_OK
               : fail(STATUS_FAILED, "%s exists; --force replaces it", path);
}

/* All columns as one WAV. */
static enum status write_wav(const struct mask *mask, const char *path,
                             const struct mask_write_settings *settings, char **wav,
                             const char **name)
{
    enum status status = name_beside(path, ".wav", 0, wav, name);
    if (status != STATUS_OK)
        return status;
    status = check_free(path, settings);
    if (status == STATUS_OK)
        status = mask_write_wav(mask, *wav, settings);
    if (status != STATUS_OK)
        free(*wav);
    return status;
}

/* ---- jconvolver ---- */

static enum status write_jconvolver(const struct mask *mask, const char *path,
                                    const struct mask_write_settings *settings)
{
    char *wav;
    const char *name;
    struct text_file *file;
    enum status status = write_wav(mask, path, settings, &wav, &name);
    if (status != STATUS_OK)
        return status;
    status = text_file_open(path, settings, &file);
    if (status == STATUS_OK) {
        FILE *stream = text_file_stream(file);
        fprintf(stream, "# Written by halo, for sound at %u Hz\n", mask->rate);
        fprintf(stream, "#              in out partition length\n/convolver/new %zu %zu %d %zu\n",
                mask->inputs, mask->outputs, JCONVOLVER_PARTITION, mask->taps);
        fprintf(stream, "#             in out gain delay offset length channel file\n");
        for (size_t p = 0; p < mask->path_count; p++)
            fprintf(stream, "/impulse/read %zu %zu 1 0 0 0 %zu \"%s\"\n", mask->paths[p].input + 1,
                    mask->paths[p].output + 1, mask->paths[p].column + 1, name);
        status = text_file_keep(file);
        text_file_close(file);
    }
    free(wav);
    return status;
}

/* ---- CamillaDSP ---- */

static void print_mixer(const struct mask *mask, bool is_split, FILE *stream)
{
    fprintf(stream, "  %s:\n    channels: {in: %zu, out: %zu}\n    mapping:\n",
            is_split ? "split" : "join", is_split ? mask->inputs : mask->path_count,
            is_split ? mask->path_count : mask->outputs);
    for (size_t p = 0; is_split && p < mask->path_count; p++)
        fprintf(stream,
                "      - dest: %zu\n        sources:\n          - {channel: %zu, gain: 0}\n", p,
                mask->paths[p].input);
    for (size_t o = 0; !is_split && o < mask->outputs; o++) {
        bool first = true;
        for (size_t p = 0; p < mask->path_count; p++) {
            if (mask->paths[p].output != o)
                continue;
            if (first)
                fprintf(stream, "      - dest: %zu\n        sources:\n", o);
            fprintf(stream, "          - {channel: %zu, gain: 0}\n", p);
            first = false;
        }
    }
}

/* A channel for every path between two mixers. */
static void print_camilladsp(const struct mask *mask, const char *name, FILE *stream)
{
    fprintf(stream,
            "# Written by halo for CamillaDSP 4: put your own devices here.\n"
            "# CamillaDSP 3 says FLOAT32LE for F32_LE.\n"
            "devices:\n  samplerate: %u\n  chunksize: 1024\n"
            "  capture: {type: Stdin, channels: %zu, format: F32_LE}\n"
            "  playback: {type: Stdout, channels: %zu, format: F32_LE}\n",
            mask->rate, mask->inputs, mask->outputs);
    fprintf(stream, "filters:\n");
    for (size_t c = 0; c < mask->columns; c++)
        fprintf(stream,
                "  mask%zu:\n    type: Conv\n    parameters: {type: Wav, filename: \"%s\", "
                "channel: %zu}\n",
                c + 1, name, c);
    fprintf(stream, "mixers:\n");
    print_mixer(mask, true, stream);
    print_mixer(mask, false, stream);
    fprintf(stream, "pipeline:\n  - {type: Mixer, name: split}\n");
    for (size_t p = 0; p < mask->path_count; p++)
        fprintf(stream, "  - {type: Filter, channels: [%zu], names: [mask%zu]}\n", p,
                mask->paths[p].column + 1);
    fprintf(stream, "  - {type: Mixer, name: join}\n");
}

static enum status write_camilladsp(const struct mask *mask, const char *path,
                                    const struct mask_write_settings *settings)
{
    char *wav;
    const char *name;
    struct text_file *file;
    enum status status = write_wav(mask, path, settings, &wav, &name);
    if (status != STATUS_OK)
        return status;
    status = text_file_open(path, settings, &file);
    if (status == STATUS_OK) {
        print_camilladsp(mask, name, text_file_stream(file));
        status = text_file_keep(file);
        text_file_close(file);
    }
    free(wav);
    return status;
}

/* ---- a file for each column ---- */

/* For every column: write it where `stream` is NULL, else name it there. */
static enum status each_column(const struct mask *mask, const char *path, const char *ending,
                               const struct mask_write_settings *settings, FILE *stream)
{
    bool is_raw = strcmp(ending, ".f32") == 0;
    enum status status = STATUS_OK;
    for (size_t c = 0; c < mask->columns && status == STATUS_OK; c++) {
        char *file;
        const char *name;
        status = name_beside(path, ending, c + 1, &file, &name);
        if (status != STATUS_OK)
            return status;
        if (stream && is_raw) {
            fprintf(stream,
                    "coeff %zu { filename: \"%s\"; format: \"FLOAT_LE\"; attenuation: 0.0; "
                    "blocks: -1; skip: 0; shared_mem: false; };\n",
                    c, name);
        } else if (!stream && is_raw) {
            status = mask_write_raw(mask, c, file, settings);
        } else {
            struct mask one = *mask;
            one.columns = 1;
            one.coefficients = mask_column(mask, c);
            status = mask_write_wav(&one, file, settings);
        }
        free(file);
    }
    return status;
}

/* ---- BruteFIR ---- */

static void print_channels(const char *what, size_t count, FILE *stream)
{
    bool is_input = strcmp(what, "input") == 0;
    fprintf(stream, "%s ", what);
    for (size_t c = 0; c < count; c++)
        fprintf(stream, "%s%zu", c ? ", " : "", c);
    fprintf(stream,
            " {\n  device: \"file\" { path: \"/dev/%s\"; };\n  sample: \"FLOAT_LE\";\n"
            "  channels: %zu;\n  maxdelay: -1;\n",
            is_input ? "stdin" : "stdout", count);
    fprintf(stream, "%s};\n", is_input ? "" : "  dither: false;\n");
}

/* The configuration, and each column of the mask beside it. */
static enum status write_with_columns(const struct mask *mask, const char *path, const char *ending,
                                      const struct mask_write_settings *settings,
                                      enum status (*print)(const struct mask *mask,
                                                           const char *path, FILE *stream))
{
    struct text_file *file;
    enum status status = check_free(path, settings);
    if (status == STATUS_OK)
        status = each_column(mask, path, ending, settings, NULL);
    if (status == STATUS_OK)
        status = text_file_open(path, settings, &file);
    if (status != STATUS_OK)
        return status;
    status = print(mask, path, text_file_stream(file));
    if (status == STATUS_OK)
        status = text_file_keep(file);
    text_file_close(file);
    return status;
}

static enum status print_brutefir(const struct mask *mask, const char *path, FILE *stream)
{
    fprintf(stream,
            "# Written by halo: put your own devices into input and output.\n"
            "float_bits: 64;\nsampling_rate: %u;\nfilter_length: %d,%zu;\n"
            "overflow_warnings: true;\nshow_progress: false;\nmax_dither_table_size: 0;\n"
            "allow_poll_mode: false;\nmodules_path: \".\";\nmonitor_rate: false;\n"
            "powersave: false;\nlock_memory: false;\nsdf_length: -1;\n"
            "convolver_config: \"/tmp/brutefir_convolver\";\n",
            mask->rate, BRUTEFIR_BLOCK, (mask->taps + BRUTEFIR_BLOCK - 1) / BRUTEFIR_BLOCK);
    enum status status = each_column(mask, path, ".f32", NULL, stream);
    print_channels("input", mask->inputs, stream);
    print_channels("output", mask->outputs, stream);
    for (size_t p = 0; p < mask->path_count; p++)
        fprintf(stream,
                "filter %zu { from_inputs: %zu; to_outputs: %zu; coeff: %zu; process: 0; "
                "delay: 0; crossfade: false; };\n",
                p, mask->paths[p].input, mask->paths[p].output, mask->paths[p].column);
    return status;
}

static enum status write_brutefir(const struct mask *mask, const char *path,
                                  const struct mask_write_settings *settings)
{
    if (!mask->rate)
        return fail(STATUS_USAGE, "mask %s does not say its rate; --rate does", mask->name);
    return write_with_columns(mask, path, ".f32", settings, print_brutefir);
}

/* ---- Equalizer APO ---- */

static enum status print_eqapo(const struct mask *mask, const char *path, FILE *stream)
{
    enum status status = STATUS_OK;
    fprintf(stream, "# Written by halo, for sound at %u Hz\n", mask->rate);
    for (size_t p = 0; p < mask->path_count && status == STATUS_OK; p++) {
        char *file;
        const char *name;
        status = name_beside(path, ".wav", mask->paths[p].column + 1, &file, &name);
        if (status != STATUS_OK)
            continue;
        fprintf(stream, "Channel: %zu\nConvolution: %s\n", mask->paths[p].input + 1, name);
        free(file);
    }
    return status;
}

static enum status write_eqapo(const struct mask *mask, const char *path,
                               const struct mask_write_settings *settings)
{
    for (size_t p = 0; p < mask->path_count; p++)
        for (size_t q = 0; q <= p; q++)
            if (mask->paths[p].input != mask->paths[p].output ||
                (q < p && mask->paths[q].input == mask->paths[p].input))
                return fail(STATUS_FAILED,
                            "mask %s leads from one channel to another, which Equalizer APO's "
                            "Convolution: cannot",
                            mask->name);
    return write_with_columns(mask, path, ".wav", settings, print_eqapo);
}

static const struct mask_config_writer writers[] = {
    {"jconvolver", write_jconvolver},
    {"camilladsp", write_camilladsp},
    {"brutefir", write_brutefir},
    {"eqapo", write_eqapo},
};

const struct mask_config_writer *mask_config_writer_at(size_t index)
{
    return index < sizeof writers / sizeof *writers ? &writers[index] : NULL;
}
