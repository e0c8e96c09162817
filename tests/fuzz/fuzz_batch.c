/* libFuzzer target for lines of job lists, of manifests and of journals. */
#include "batch/batch_job.h"
#include "batch/batch_journal.h"
#include "batch/batch_list.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct batch_options options = {.render = {.out_dir = "/tmp", .chain = CHAIN_OPTIONS_DEFAULTS}};
    struct batch_job job = {0};
    struct job_line scanned;
    char *text = fuzz_text(data, size), *line = NULL;
    options.from = (enum batch_from)(size % 4);
    fuzz_begin();
    enum status status = batch_line_to_job(&options, text, &line);
    if (status == STATUS_OK && line)
        status = batch_job_identify(&options, line, &job);
    if (status == STATUS_OK && line && job_line_scan(line, &scanned) &&
        (strlen(job.id) != scanned.id.length ||
         memcmp(job.id, scanned.id.text, scanned.id.length) != 0))
        abort();
    fuzz_end(status);
    json_decref(batch_journal_parse((const char *)data, size));
    batch_job_free(&job);
    free(line);
    free(text);
    return 0;
}
