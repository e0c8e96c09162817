#include "chain/chain_file.h"

#include "chain/chain_schema.h"
#include "chain/chain_paths.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* As on the command line: words separated by commas, their own escaped. */
static char *join_spec(const struct stage_kind *kind, const char *value,
                        const struct chain_entry *entry, const char *folder)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    bool failed = !stream;
    for (unsigned w = 0; !failed && w <= entry->options_count; w++) {
        char *word = chain_paths_from_folder(kind, w ? entry->options[w - 1] : value, w, folder);
        failed = !word;
        if (w > 0)
            fputc(',', stream);
        for (const char *at = word; at && *at; at++) {
            if (*at == ',')
                fputc('\\', stream);
            fputc(*at, stream);
        }
        free(word);
    }
    if (stream)
        failed |= fclose(stream) != 0;
    if (!failed)
        return text;
    free(text);
    return NULL;
}

static enum status parse_entry(const struct chain_entry *entry, unsigned number, const char *path,
                              const char *folder, struct stage_list *list)
{
    const struct stage_kind *kind = NULL;
    const char *value = NULL;
    for (size_t k = 0; k < CHAIN_KINDS_MOST; k++) {
        if (!entry->values[k])
            continue;
        if (kind)
            return fail(STATUS_FAILED, "cannot use chain %s: stage %u is both %s and %s", path,
                        number, kind->option, stage_kind_at(k)->option);
        kind = stage_kind_at(k);
        value = entry->values[k];
    }
    if (!kind)
        return fail(STATUS_FAILED, "cannot use chain %s: stage %u is of no kind (mask:, lv2:, ...)",
                    path, number);
    char *text = join_spec(kind, value, entry, folder);
    if (!text)
        return fail_memory("a chain");
    char origin[PATH_MAX + 64];
    snprintf(origin, sizeof origin, "chain %s, stage %u", path, number);
    enum status status = stage_list_add(list, kind, text, origin);
    free(text);
    return status;
}

static enum status check_file(const char *path)
{
    struct stat stats;
    if (stat(path, &stats) != 0)
        return fail(STATUS_FAILED, "cannot open chain %s: %s", path, strerror(errno));
    if (S_ISDIR(stats.st_mode))
        return fail(STATUS_FAILED, "cannot open chain %s: it is a directory", path);
    if (!S_ISREG(stats.st_mode))
        return fail(STATUS_FAILED, "cannot open chain %s: it is no regular file", path);
    if (stats.st_size == 0)
        return fail(STATUS_FAILED, "cannot use chain %s: it is empty", path);
    if (stats.st_size > CHAIN_BYTES_MOST)
        return fail(STATUS_FAILED, "cannot use chain %s: it has more than %d bytes, so it is none",
                    path, CHAIN_BYTES_MOST);
    if (access(path, R_OK) != 0)
        return fail(STATUS_FAILED, "cannot open chain %s: %s", path, strerror(errno));
    return STATUS_OK;
}

enum status chain_file_load(const char *path, struct stage_list *list)
{
    struct chain_schema schema;
    struct chain_said said = {0};
    struct chain_document *document = NULL;
    char folder[PATH_MAX];
    chain_schema_init(&schema);
    const cyaml_config_t config = chain_schema_config(&said);
    enum status status = check_file(path);
    if (status == STATUS_OK)
        status = chain_folder_of(path, folder);
    if (status != STATUS_OK)
        return status;
    cyaml_err_t error =
        cyaml_load_file(path, &config, &schema.document, (cyaml_data_t **)&document, NULL);
    if (error != CYAML_OK)
        return fail(STATUS_FAILED, "cannot use chain %s: %s%s", path, said.line,
                    *said.text ? said.text : cyaml_strerror(error));
    if (!document)
        return fail(STATUS_FAILED, "cannot use chain %s: there is nothing in it", path);
    if (document->version != CHAIN_VERSION)
        status = fail(STATUS_FAILED,
                      "cannot use chain %s: it is of version %u, and this halo knows "
                      "version %d",
                      path, document->version, CHAIN_VERSION);
    for (unsigned i = 0; i < document->stages_count && status == STATUS_OK; i++)
        status = parse_entry(&document->stages[i], i + 1, path, folder, list);
    cyaml_free(&config, &schema.document, document, 0);
    return status;
}
