#include "alsa_rig.h"

#include "command.h"
#include "stream.h"
#include "suite.h"

#include <stdio.h>
#include <sys/stat.h>

static FILE *open_in_folder(const char *name, const char *mode)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", command_folder(), name);
    FILE *file = fopen(path, mode);
    ck_assert_msg(file != NULL, "cannot open %s", path);
    return file;
}

static void write_card(FILE *file, const struct alsa_card *card, const char *name)
{
    fprintf(file, "pcm.%s { type simcard", name);
    if (card->infile)
        fprintf(file, " infile \"%s/%s\"", command_folder(), card->infile);
    if (card->outfile)
        fprintf(file, " outfile \"%s/%s\"", command_folder(), card->outfile);
    fprintf(file, " rate %u channels %u speed %.6f unplug %lu hangs %d }\n",
            card->rate ? card->rate : 48000, card->channels ? card->channels : 2,
            card->speed > 0 ? card->speed : 1, card->unplug, card->hangs);
}

void alsa_rig_cards(const struct alsa_card *cards, size_t count)
{
    FILE *file = open_in_folder("asound.conf", "w");
#ifdef HALO_SIMCARD
    fprintf(file, "pcm_type.simcard { lib \"%s\" }\n", HALO_SIMCARD);
#endif
    for (size_t i = 0; i < count; i++)
        write_card(file, &cards[i], cards[i].name);
    /* Without a default device PortAudio aborts the program. */
    if (count > 0)
        write_card(file, &cards[0], "default");
    else
        fputs("pcm.default { type hw card 31 }\n", file);
    fputs("ctl.default { type null }\n", file);
    ck_assert_int_eq(fclose(file), 0);
    char path[256];
    snprintf(path, sizeof path, "%s/asound.conf", command_folder());
    ck_assert_int_eq(setenv("ALSA_CONFIG_PATH", path, 1), 0);
}

void alsa_rig_save(const struct block *block, const char *name)
{
    float *interleaved = audio_alloc(block->channels * block->frames);
    ck_assert_ptr_nonnull(interleaved);
    audio_interleave((const float *const *)block->data, 0, block->channels, block->frames,
                     interleaved);
    FILE *file = open_in_folder(name, "wb");
    size_t count = block->channels * block->frames;
    ck_assert_uint_eq(fwrite(interleaved, sizeof *interleaved, count, file), count);
    ck_assert_int_eq(fclose(file), 0);
    free(interleaved);
}

struct block alsa_rig_load(const char *name, size_t channels)
{
    FILE *file = open_in_folder(name, "rb");
    struct stat info;
    ck_assert_int_eq(fstat(fileno(file), &info), 0);
    size_t frames = (size_t)info.st_size / (channels * sizeof(float));
    struct block block = stream_block(channels, frames);
    float *interleaved = audio_alloc(channels * frames + 1);
    ck_assert_ptr_nonnull(interleaved);
    ck_assert_uint_eq(fread(interleaved, sizeof(float), channels * frames, file),
                      channels * frames);
    fclose(file);
    audio_deinterleave(interleaved, channels, frames, block.data, 0);
    free(interleaved);
    return block;
}
