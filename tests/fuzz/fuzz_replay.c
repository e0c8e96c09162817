/* libFuzzer target for replay logs. A chain of gains and the mask m.txt is made and heard. */
#include "fuzz.h"
#include "live/session/replay.h"

enum { BLOCK_MOST = 256, CHANNELS_MOST = 4, FRAMES = 2048, TAPS_MOST = 1024 };

static char folder[] = "/tmp/halo-fuzz-XXXXXX";

static void remove_folder(void)
{
    (void)unlink("m.txt");
    (void)rmdir(folder);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    static const char taps[] = "1\n-0.5\n0.25\n";
    if (!mkdtemp(folder) || chdir(folder) != 0)
        abort();
    atexit(remove_folder);
    FILE *file = fopen("m.txt", "w");
    if (!file || fputs(taps, file) < 0 || fclose(file) != 0)
        abort();
    return 0;
}

static bool is_small_mask(const char *text)
{
    return strcmp(text, "m.txt") == 0 || strcmp(text, "parametric:PK 9 1") == 0;
}

/* What costs little, and reads no file but m.txt. */
static bool is_small(const struct replay *replay)
{
    const struct live_chain_request *request = &replay->request;
    const struct stage_list *stages = &replay->options.stages;
    bool is_small = request->block <= BLOCK_MOST && request->format.channels <= CHANNELS_MOST &&
                    request->capacity <= TAPS_MOST && request->format.rate >= 1000 &&
                    request->format.rate <= 200000 && stages->count <= 4 &&
                    request->other_count <= 4;
    for (size_t i = 0; i < stages->count; i++)
        is_small = is_small &&
                   (strcmp(stages->stages[i].ops->option, "gain") == 0 ||
                    is_small_mask(stages->stages[i].text)) &&
                   !stages->stages[i].ops->may_fail;
    for (size_t i = 0; i < request->other_count; i++)
        is_small = is_small && strcmp(request->others[i], "m.txt") == 0;
    for (size_t i = 0; i < replay->event_count; i++)
        is_small =
            is_small &&
            ((replay->events[i].kind != LOGGED_LOAD && replay->events[i].kind != LOGGED_BANDS) ||
             is_small_mask(replay->events[i].text));
    return is_small;
}

static enum status hear(struct replay *replay)
{
    struct live_chain chain = {0};
    struct block block = {0};
    struct source *source = NULL;
    struct sink *sink = NULL;
    struct proof_result proof = {0};
    uint64_t heard = 0;
    enum status status = live_chain_init(&chain, &replay->request);
    if (status != STATUS_OK ||
        (status = block_init(&block, replay->format.channels, FRAMES, "a test")) ||
        (status = source_open_memory(&block, replay->format.rate, &source)) ||
        (status = sink_open_memory(chain.filter->outputs, &sink)))
        goto end;
    block_silence(&block, 0, FRAMES);
    for (size_t i = 0; i < FRAMES; i++)
        block.data[0][i] = i % 64 < 32 ? 0.5f : -0.5f;
    status = replay_run(replay, &chain, source, sink, &heard, &proof);
    if (status == STATUS_OK && heard != FRAMES)
        abort();
end:
    sink_close(sink);
    source_close(source);
    block_free(&block);
    live_chain_free(&chain);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct chain_options options = {
        .threads = 1, .settings = {.convolver = {.backend = "cpu"}, .isolate = ISOLATE_OFF}};
    char path[64];
    int fd = fuzz_file(data, size, path);
    struct replay replay;
    fuzz_begin();
    enum status status = replay_load(&replay, path, &options);
    if (status == STATUS_OK && is_small(&replay))
        status = hear(&replay);
    fuzz_end(status);
    replay_free(&replay);
    close(fd);
    return 0;
}
