/* libFuzzer target for the chain reader. */
#include "chain/chain_file.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64], message[1024] = "";
    struct stage_list list = {0};
    int fd = memfd_create("chain", 0);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    log_capture(message, sizeof message);
    enum status status = chain_file_load(path, &list);
    log_capture(NULL, 0);
    if ((status == STATUS_OK) != (message[0] == '\0')) /* an error text, and only on failure */
        abort();
    for (size_t i = 0; i < list.count; i++)
        if (!list.stages[i].ops || !list.stages[i].text)
            abort();
    stage_list_free(&list);
    close(fd);
    return 0;
}
