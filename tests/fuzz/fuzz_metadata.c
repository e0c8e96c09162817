/* libFuzzer target for what surrounds the samples of a file: read, adjusted, and written into every
 * container. */
#include "fuzz.h"
#include "sound/metadata/metadata.h"

static void write_all(struct sound_metadata *metadata, bool keeps_loops, unsigned rate_in)
{
    const struct metadata_change change = {.frames = 1000,
                                           .keeps_loops = keeps_loops,
                                           .rate_in = rate_in,
                                           .rate = 48000,
                                           .channels = 2,
                                           .bits = 16,
                                           .bytes = 2,
                                           .maker = "halo"};
    struct metadata_buffer buffers[7] = {0};
    if (metadata_adjust(metadata, &change) == STATUS_OK) {
        for (enum metadata_family i = FAMILY_RIFF; i <= FAMILY_CAF; i++)
            metadata_forms[i]->write(metadata, i, true, &buffers[i]);
        metadata_write_comments(metadata, NULL, true, COMMENTS_MOST, &buffers[5]);
        metadata_write_flac(metadata, &change, &buffers[6]);
    }
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        free(buffers[i].bytes);
}

/* As what follows the samples of a stream of each kind. */
static enum status read_after(struct sound_bytes *bytes, struct sound_metadata *metadata)
{
    static const char heads[][13] = {"RIFF    WAVE", "RIFX    WAVE", "FORM    AIFF", "riff        ",
                                     "caff        "};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        TRY(metadata_read_after(bytes, sound_chunks_layout((const unsigned char *)heads[i]),
                                metadata));
    return STATUS_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sound_bytes bytes = {.fd = -1, .memory = data, .size = size};
    struct sound_metadata *metadata = NULL;
    fuzz_begin();
    enum status status = metadata_create(&metadata);
    if (status == STATUS_OK)
        status = metadata_read(&bytes, metadata);
    if (status == STATUS_OK && size % 3 == 0)
        status = read_after(&bytes, metadata);
    if (status == STATUS_OK)
        status = metadata_remove_unplaced(metadata);
    if (status == STATUS_OK)
        write_all(metadata, size & 1, size & 2 ? 44100 : 48000);
    if (status == STATUS_OK)
        status = metadata_conclude(metadata);
    metadata_destroy(metadata);
    fuzz_end(status);
    return 0;
}
