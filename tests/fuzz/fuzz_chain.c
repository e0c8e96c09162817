/* libFuzzer target for the chain reader. */
#include "chain/chain_file.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    struct stage_list list = {0};
    struct chain_live live = {0};
    int fd = fuzz_file(data, size, path);
    fuzz_begin();
    fuzz_end(chain_file_load(path, &list, &live));
    for (size_t i = 0; i < list.count; i++)
        if (!list.stages[i].ops || !list.stages[i].text)
            abort();
    for (size_t i = 0; i < live.other_count; i++)
        if (live.stage >= list.count || !live.others[i])
            abort();
    chain_live_free(&live);
    stage_list_free(&list);
    close(fd);
    return 0;
}
