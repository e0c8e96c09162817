#include "import/mask_write.h"

#include "base/atomic_file.h"
#include "mask/mask.h"
#include "sound/metadata/metadata.h"
#include "sound/port.h"

#include <errno.h>
#include <sndfile.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct text_file {
    struct atomic_file file;
    const char *path;
    FILE *stream;
};

enum status text_file_open(const char *path, const struct mask_write_settings *settings,
                           struct text_file **result)
{
    struct text_file *file = *result = calloc(1, sizeof *file);
    if (!file)
        return fail_memory("writing a mask");
    file->path = path;
    enum status status = atomic_text_open(&file->file, path, settings->force, &file->stream);
    if (status != STATUS_OK)
        free(file);
    return status;
}

FILE *text_file_stream(struct text_file *file)
{
    return file->stream;
}

enum status text_file_keep(struct text_file *file)
{
    enum status status = atomic_text_close(&file->file, file->path, file->stream, STATUS_OK);
    free(file);
    return status;
}

static enum status write_columns(const struct mask *mask, struct sink *sink)
{
    const double **columns = malloc(mask->columns * sizeof *columns);
    if (!columns)
        return fail_memory("writing a mask");
    for (size_t c = 0; c < mask->columns; c++)
        columns[c] = mask_column(mask, c);
    enum status status = sink_write_in_double(sink, columns, mask->taps);
    free(columns);
    return status;
}

/* Writes the file, with metadata before or behind the samples; NULL: none. */
static enum status write_with(const struct mask *mask, struct sink_settings settings,
                              struct sound_metadata *metadata)
{
    struct sink *sink;
    bool is_after = metadata && sink_puts_metadata_after(&settings);
    settings.metadata = is_after ? NULL : metadata;
    TRY(sink_open_sound(&settings, &sink));
    enum status status = write_columns(mask, sink);
    if (status == STATUS_OK && is_after)
        status = sink_put_metadata(sink, metadata);
    if (status == STATUS_OK)
        status = sink_commit(sink);
    sink_close(sink);
    return status;
}

enum status mask_write_sound(const struct mask *mask, const struct sink_settings *settings)
{
    static const char name[] = "COMMENT";
    struct sound_metadata *metadata;
    if (!mask->measured)
        return write_with(mask, *settings, NULL);
    TRY(metadata_create(&metadata));
    enum status status =
        metadata_add_text(metadata, name, sizeof name - 1, mask->measured, strlen(mask->measured));
    if (status == STATUS_OK)
        status = write_with(mask, *settings, metadata);
    if (status == STATUS_OK)
        status = metadata_conclude(metadata);
    if (status == STATUS_OK && metadata->loss_count > 0)
        note("%s does not keep what was measured besides the mask", settings->path);
    metadata_destroy(metadata);
    return status;
}

enum status mask_write_wav(const struct mask *mask, const char *path,
                           const struct mask_write_settings *settings)
{
    if (!mask->rate)
        return fail(CAUSE_USAGE, "mask %s has no rate; set --rate", mask->name);
    return mask_write_sound(
        mask, &(struct sink_settings){
                  .path = path,
                  .format = {.rate = mask->rate, .channels = mask->columns},
                  .sound_format =
                      SF_FORMAT_WAV | (settings->is_double ? SF_FORMAT_DOUBLE : SF_FORMAT_FLOAT),
                  .frames = (int64_t)mask->taps,
                  .force = settings->force,
              });
}

static void print_head(const struct mask *mask, bool all, FILE *stream)
{
    if (mask->rate)
        fprintf(stream, "rate: %u\n", mask->rate);
    if (!all)
        return;
    if (mask->origin)
        fprintf(stream, "origin: %zu\n", mask->origin);
    if (!mask->has_own_paths)
        return;
    fprintf(stream, "inputs: %zu\noutputs: %zu\n", mask->inputs, mask->outputs);
    for (size_t p = 0; p < mask->path_count; p++)
        fprintf(stream, "path: %zu %zu %zu\n", mask->paths[p].input + 1, mask->paths[p].output + 1,
                mask->paths[p].column + 1);
}

/* Prints a tap with enough digits to read the same number back. */
static void print_tap(double tap, bool is_double, char end, FILE *stream)
{
    if (is_double)
        fprintf(stream, "%.17g%c", tap, end);
    else
        fprintf(stream, "%.9g%c", (double)(float)tap, end);
}

enum status mask_write_text(const struct mask *mask, const char *path, bool all,
                            const struct mask_write_settings *settings)
{
    struct text_file *file;
    TRY(text_file_open(path, settings, &file));
    print_head(mask, all, file->stream);
    for (size_t k = 0; k < mask->taps; k++)
        for (size_t c = 0; c < mask->columns; c++)
            print_tap(mask_column(mask, c)[k], settings->is_double,
                      c + 1 < mask->columns ? ' ' : '\n', file->stream);
    return text_file_keep(file);
}

static uint32_t bits_of(float tap)
{
    uint32_t bits;
    memcpy(&bits, &tap, sizeof bits);
    return bits;
}

static enum status write_raw(const struct mask *mask, const char *path,
                             const struct mask_write_settings *settings)
{
    struct text_file *file;
    TRY(text_file_open(path, settings, &file));
    for (size_t k = 0; k < mask->taps; k++) {
        uint64_t bits;
        double tap = mask->coefficients[k];
        memcpy(&bits, &tap, sizeof bits);
        if (!settings->is_double)
            bits = bits_of((float)tap);
        for (int byte = 0; byte < (settings->is_double ? 8 : 4); byte++)
            putc((int)(bits >> 8 * byte & 0xFF), file->stream);
    }
    return text_file_keep(file);
}

/* Whether each channel goes only to itself. */
static bool is_diagonal(const struct mask *mask)
{
    if (mask->inputs != mask->outputs || mask->path_count != mask->inputs)
        return false;
    for (size_t p = 0; p < mask->path_count; p++)
        for (size_t q = 0; q <= p; q++)
            if (mask->paths[p].input != mask->paths[p].output ||
                (q < p && mask->paths[p].input == mask->paths[q].input))
                return false;
    return true;
}

enum status mask_without_paths(const struct mask *mask, struct mask **result, bool *is_matrix)
{
    bool own = mask->has_own_paths, diagonal = own && is_diagonal(mask);
    size_t columns = !own ? mask->columns : diagonal ? mask->inputs : mask->inputs * mask->outputs;
    struct mask *plain;
    TRY(mask_create(mask->name, columns, mask->taps, &plain));
    plain->rate = mask->rate;
    plain->origin = mask->origin;
    if (!own)
        memcpy(plain->coefficients, mask->coefficients, columns * mask->taps * sizeof(double));
    for (size_t p = 0; own && p < mask->path_count; p++) {
        const struct mask_path *path = &mask->paths[p];
        const double *from = mask_column(mask, path->column);
        double *to =
            mask_column(plain, diagonal ? path->input : path->input * mask->outputs + path->output);
        for (size_t k = 0; k < mask->taps; k++)
            to[k] += from[k];
    }
    if (!own && mask->measured && !(plain->measured = strdup(mask->measured))) {
        mask_destroy(plain);
        return fail_memory("writing a mask");
    }
    *is_matrix = own && !diagonal;
    *result = plain;
    return STATUS_OK;
}

/* ---- PipeWire ----
 *
 * A filter chain for PipeWire 0.3.65 and later: a copy for each input, a convolver for each path
 * and mixers for each output. */

enum {
    CHANNELS_MOST = 64, /* PipeWire's limit */
    MIXER_INPUTS = 8,
    MORE_INPUTS = MIXER_INPUTS - 1, /* a later mixer's first input is the mixer before it */
};

static enum status check_pipewire(const struct mask *mask)
{
    if (mask->inputs <= CHANNELS_MOST && mask->outputs <= CHANNELS_MOST)
        return STATUS_OK;
    return fail(CAUSE_UNSUPPORTED, "mask %s has more than %d channels, PipeWire's most", mask->name,
                CHANNELS_MOST);
}

/* The mixer for a path of an output, counted from 0. */
static size_t mixer_of(size_t index)
{
    return index < MIXER_INPUTS ? 0 : 1 + (index - MIXER_INPUTS) / MORE_INPUTS;
}

/* The input of that mixer, counted from 1, as in PipeWire. */
static size_t mixer_input(size_t index)
{
    return index < MIXER_INPUTS ? index + 1 : 2 + (index - MIXER_INPUTS) % MORE_INPUTS;
}

static size_t last_mixer(const struct mask *mask, size_t output)
{
    size_t count = 0;
    for (size_t p = 0; p < mask->path_count; p++)
        count += mask->paths[p].output == output;
    return count > 0 ? mixer_of(count - 1) : 0;
}

static void print_nodes(const struct mask *mask, const char *stem, FILE *stream)
{
    fprintf(stream, "      nodes = [\n");
    for (size_t i = 0; i < mask->inputs; i++)
        fprintf(stream, "        { type = builtin label = copy name = in%zu }\n", i + 1);
    for (size_t p = 0; p < mask->path_count; p++)
        fprintf(stream,
                "        { type = builtin label = convolver name = path%zu\n"
                "          config = { filename = \"%s.wav\" channel = %zu } }\n",
                p + 1, stem, mask->paths[p].column);
    for (size_t o = 0; o < mask->outputs; o++)
        for (size_t m = 0; m <= last_mixer(mask, o); m++)
            fprintf(stream, "        { type = builtin label = mixer name = out%zu.%zu }\n", o + 1,
                    m);
    fprintf(stream, "      ]\n");
}

static void print_links(const struct mask *mask, FILE *stream)
{
    fprintf(stream, "      links = [\n");
    for (size_t p = 0; p < mask->path_count; p++)
        fprintf(stream, "        { output = \"in%zu:Out\" input = \"path%zu:In\" }\n",
                mask->paths[p].input + 1, p + 1);
    for (size_t o = 0; o < mask->outputs; o++) {
        size_t index = 0;
        for (size_t m = 1; m <= last_mixer(mask, o); m++)
            fprintf(stream, "        { output = \"out%zu.%zu:Out\" input = \"out%zu.%zu:In 1\" }\n",
                    o + 1, m - 1, o + 1, m);
        for (size_t p = 0; p < mask->path_count; p++)
            if (mask->paths[p].output == o) {
                fprintf(stream,
                        "        { output = \"path%zu:Out\" input = \"out%zu.%zu:In %zu\" }\n",
                        p + 1, o + 1, mixer_of(index), mixer_input(index));
                index++;
            }
    }
    fprintf(stream, "      ]\n");
}

static void print_ends(const struct mask *mask, FILE *stream)
{
    fprintf(stream, "      inputs = [");
    for (size_t i = 0; i < mask->inputs; i++)
        fprintf(stream, " \"in%zu:In\"", i + 1);
    fprintf(stream, " ]\n      outputs = [");
    for (size_t o = 0; o < mask->outputs; o++)
        fprintf(stream, " \"out%zu.%zu:Out\"", o + 1, last_mixer(mask, o));
    fprintf(stream, " ]\n");
}

static void print_positions(size_t channels, FILE *stream)
{
    static const char *const positions[] = {
        [1] = " MONO",
        [2] = " FL FR",
        [4] = " FL FR RL RR",
        [6] = " FL FR FC LFE RL RR",
        [8] = " FL FR FC LFE RL RR SL SR",
    };
    bool is_known = channels < sizeof positions / sizeof *positions && positions[channels];
    fprintf(stream, "        audio.channels = %zu\n        audio.position = [%s", channels,
            is_known ? positions[channels] : "");
    for (size_t c = 0; !is_known && c < channels; c++)
        fprintf(stream, " AUX%zu", c);
    fprintf(stream, " ]\n");
}

static void print_pipewire(const struct mask *mask, const char *stem, bool is_double, FILE *stream)
{
    (void)is_double; /* the header of the WAV gives the precision */
    const char *slash = strrchr(stem, '/'), *name = slash ? slash + 1 : stem;
    fprintf(stream,
            "# Written by halo, for sound at %u Hz. In ~/.config/pipewire/pipewire.conf.d it is a\n"
            "# sink after PipeWire is restarted. It names its WAV where that is now.\n"
            "context.modules = [\n  { name = libpipewire-module-filter-chain\n    args = {\n"
            "      filter.graph = {\n",
            mask->rate);
    print_nodes(mask, stem, stream);
    print_links(mask, stream);
    print_ends(mask, stream);
    fprintf(stream,
            "      }\n      node.description = \"halo: %s\"\n      capture.props = {\n"
            "        node.name = \"halo_input.%s\"\n        media.class = Audio/Sink\n",
            name, name);
    print_positions(mask->inputs, stream);
    fprintf(stream,
            "      }\n      playback.props = {\n        node.name = \"halo_output.%s\"\n"
            "        node.passive = true\n",
            name);
    print_positions(mask->outputs, stream);
    fprintf(stream, "      }\n    }\n  }\n]\n");
}

/* ---- configurations ---- */

enum { BRUTEFIR_BLOCK = 4096, JCONVOLVER_PARTITION = 256 };

/* Length of a path without its ending. */
static int stem_length(const char *path)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    bool has_ending = dot && dot > path && (!slash || dot > slash + 1);
    return has_ending ? (int)(dot - path) : (int)strlen(path);
}

/* Name of a file for the configuration at `path`: "STEM-NUMBER", or "STEM" for 0, then `ending`. */
static enum status name_beside(const char *path, const char *ending, size_t number, char **beside)
{
    int stem = stem_length(path);
    int length = number ? asprintf(beside, "%.*s-%zu%s", stem, path, number, ending)
                        : asprintf(beside, "%.*s%s", stem, path, ending);
    if (length < 0)
        return fail_memory("writing a mask");
    const char *slash = strrchr(*beside, '/');
    if (!strpbrk(slash ? slash + 1 : *beside, "\"\\\n\r#$"))
        return STATUS_OK;
    free(*beside);
    return fail(CAUSE_USAGE, "a configuration cannot name a file like %s", path);
}

static void print_jconvolver(const struct mask *mask, const char *stem, bool is_double,
                             FILE *stream)
{
    (void)is_double; /* the header of the WAV gives the precision */
    fprintf(stream, "# Written by halo, for sound at %u Hz\n", mask->rate);
    fprintf(stream, "#              in out partition length\n/convolver/new %zu %zu %d %zu\n",
            mask->inputs, mask->outputs, JCONVOLVER_PARTITION, mask->taps);
    fprintf(stream, "#             in out gain delay offset length channel file\n");
    for (size_t p = 0; p < mask->path_count; p++)
        fprintf(stream, "/impulse/read %zu %zu 1 0 0 0 %zu \"%s.wav\"\n", mask->paths[p].input + 1,
                mask->paths[p].output + 1, mask->paths[p].column + 1, stem);
}

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

/* Prints two mixers, with a channel between them for every path. */
static void print_camilladsp(const struct mask *mask, const char *stem, bool is_double,
                             FILE *stream)
{
    (void)is_double; /* the header of the WAV gives the precision */
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
                "  mask%zu:\n    type: Conv\n    parameters: {type: Wav, filename: \"%s.wav\", "
                "channel: %zu}\n",
                c + 1, stem, c);
    fprintf(stream, "mixers:\n");
    print_mixer(mask, true, stream);
    print_mixer(mask, false, stream);
    fprintf(stream, "pipeline:\n  - {type: Mixer, name: split}\n");
    for (size_t p = 0; p < mask->path_count; p++)
        fprintf(stream, "  - {type: Filter, channels: [%zu], names: [mask%zu]}\n", p,
                mask->paths[p].column + 1);
    fprintf(stream, "  - {type: Mixer, name: join}\n");
}

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

static void print_brutefir(const struct mask *mask, const char *stem, bool is_double, FILE *stream)
{
    fprintf(stream,
            "# Written by halo: put your own devices into input and output.\n"
            "float_bits: 64;\nsampling_rate: %u;\nfilter_length: %d,%zu;\n"
            "overflow_warnings: true;\nshow_progress: false;\nmax_dither_table_size: 0;\n"
            "allow_poll_mode: false;\nmodules_path: \".\";\nmonitor_rate: false;\n"
            "powersave: false;\nlock_memory: false;\nsdf_length: -1;\n"
            "convolver_config: \"/tmp/brutefir_convolver\";\n",
            mask->rate, BRUTEFIR_BLOCK, (mask->taps + BRUTEFIR_BLOCK - 1) / BRUTEFIR_BLOCK);
    for (size_t c = 0; c < mask->columns; c++)
        fprintf(stream,
                "coeff %zu { filename: \"%s-%zu%s\"; format: \"%s\"; attenuation: 0.0; "
                "blocks: -1; skip: 0; shared_mem: false; };\n",
                c, stem, c + 1, is_double ? ".f64" : ".f32", is_double ? "FLOAT64_LE" : "FLOAT_LE");
    print_channels("input", mask->inputs, stream);
    print_channels("output", mask->outputs, stream);
    for (size_t p = 0; p < mask->path_count; p++)
        fprintf(stream,
                "filter %zu { from_inputs: %zu; to_outputs: %zu; coeff: %zu; process: 0; "
                "delay: 0; crossfade: false; };\n",
                p, mask->paths[p].input, mask->paths[p].output, mask->paths[p].column);
}

static enum status check_brutefir(const struct mask *mask)
{
    if (!mask->rate)
        return fail(CAUSE_USAGE, "mask %s has no rate; set --rate", mask->name);
    return STATUS_OK;
}

static void print_eqapo(const struct mask *mask, const char *stem, bool is_double, FILE *stream)
{
    (void)is_double; /* the header of the WAV gives the precision */
    fprintf(stream, "# Written by halo, for sound at %u Hz\n", mask->rate);
    for (size_t p = 0; p < mask->path_count; p++)
        fprintf(stream, "Channel: %zu\nConvolution: %s-%zu.wav\n", mask->paths[p].input + 1, stem,
                mask->paths[p].column + 1);
}

enum status mask_check_eqapo(const struct mask *mask)
{
    for (size_t p = 0; p < mask->path_count; p++)
        for (size_t q = 0; q <= p; q++)
            if (mask->paths[p].input != mask->paths[p].output ||
                (q < p && mask->paths[q].input == mask->paths[p].input))
                return fail(CAUSE_UNSUPPORTED,
                            "mask %s routes one channel to another, which halo does not write for "
                            "Equalizer APO",
                            mask->name);
    return STATUS_OK;
}

static const struct config_writer {
    const char *name;
    /* ending of the named files: .wav, or .f32 for raw samples (in double precision .f64) */
    const char *ending;
    bool has_one_file; /* one file has all columns; otherwise each column has a file */
    /* refuses masks that the program cannot play; NULL: it can play all */
    enum status (*check)(const struct mask *mask);
    /* `stem` is the files' name without ending. It has a folder only if has_folder. */
    void (*print)(const struct mask *mask, const char *stem, bool is_double, FILE *stream);
    bool has_folder; /* the program looks in another folder for names without one */
} writers[] = {
    {"jconvolver", ".wav", true, NULL, print_jconvolver, false},
    {"camilladsp", ".wav", true, NULL, print_camilladsp, false},
    {"brutefir", ".f32", false, check_brutefir, print_brutefir, false},
    {"eqapo", ".wav", false, mask_check_eqapo, print_eqapo, false},
    {"pipewire", ".wav", true, check_pipewire, print_pipewire, true},
};

const char *mask_config_program(size_t index)
{
    return index < sizeof writers / sizeof *writers ? writers[index].name : NULL;
}

static enum status write_files(const struct config_writer *writer, const struct mask *mask,
                               const char *path, const struct mask_write_settings *settings)
{
    bool is_raw = strcmp(writer->ending, ".f32") == 0;
    for (size_t c = 0; c < (writer->has_one_file ? 1 : mask->columns); c++) {
        char *file;
        struct mask part = *mask;
        const char *ending = is_raw && settings->is_double ? ".f64" : writer->ending;
        TRY(name_beside(path, ending, writer->has_one_file ? 0 : c + 1, &file));
        if (!writer->has_one_file) {
            part.columns = 1;
            part.measured = NULL;
            part.coefficients = mask_column(mask, c);
        }
        enum status status =
            is_raw ? write_raw(&part, file, settings) : mask_write_wav(&part, file, settings);
        free(file);
        TRY(status);
    }
    return STATUS_OK;
}

/* The stem by which the configuration names its files. */
static enum status name_stem(const struct config_writer *writer, const char *path, char **stem)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    int length = (int)(path + stem_length(path) - name);
    char *folder = NULL;
    if (writer->has_folder) {
        char *given = strndup(slash ? path : ".", slash ? (size_t)(name - path) : 1);
        folder = given ? realpath(given, NULL) : NULL;
        free(given);
        if (!folder)
            return fail_errno(errno, "cannot write %s", path);
        if (strpbrk(folder, "\"\\\n\r")) {
            free(folder);
            return fail(CAUSE_USAGE, "a configuration cannot name a file like %s", path);
        }
    }
    int made = folder ? asprintf(stem, "%s/%.*s", folder, length, name)
                      : asprintf(stem, "%.*s", length, name);
    free(folder);
    return made >= 0 ? STATUS_OK : fail_memory("writing a mask");
}

enum status mask_config_write(const char *program, const struct mask *mask, const char *path,
                              const struct mask_write_settings *settings)
{
    const struct config_writer *writer = writers;
    struct text_file *file;
    while (strcmp(writer->name, program) != 0)
        writer++;
    if (writer->check)
        TRY(writer->check(mask));
    /* Checked before the first file is written, so that a refusal leaves no file. */
    if (!settings->force && access(path, F_OK) == 0)
        return fail(CAUSE_EXISTS, "%s exists; --force replaces it", path);
    char *stem;
    TRY(name_stem(writer, path, &stem));
    enum status status = write_files(writer, mask, path, settings);
    if (status == STATUS_OK)
        status = text_file_open(path, settings, &file);
    if (status == STATUS_OK) {
        writer->print(mask, stem, settings->is_double, text_file_stream(file));
        status = text_file_keep(file);
    }
    free(stem);
    return status;
}
