#include "chain/stage_files.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void print_file(const char *path, bool is_here, FILE *text)
{
    struct stat about;
    if (stat(path, &about) != 0) {
        fprintf(text, "absent\n");
        return;
    }
    if (is_here)
        fprintf(text, "%ju %ju ", (uintmax_t)about.st_dev, (uintmax_t)about.st_ino);
    fprintf(text, "%jd %jd.%09ld\n", (intmax_t)about.st_size, (intmax_t)about.st_mtim.tv_sec,
            about.st_mtim.tv_nsec);
}

static void print_spec(const struct stage_ops *ops, char *const *spec, bool is_here, FILE *text)
{
    fprintf(text, "--%s\n", ops->option);
    for (size_t word = 0; spec[word]; word++) {
        struct stage_path path = {0};
        fprintf(text, "%s\n", spec[word]);
        for (size_t at = 0; ops->path_in && ops->path_in(spec, word, at, &path);
             at = path.start + path.length) {
            char *file = strndup(spec[word] + path.start, path.length);
            if (file)
                print_file(file, is_here, text);
            free(file);
        }
    }
}

void stage_files_print_one(const char *path, FILE *text)
{
    print_file(path, false, text);
}

void stage_files_print(const struct stage_ops *ops, char *const *spec, FILE *text)
{
    print_spec(ops, spec, true, text);
}

enum status stage_files_print_all(const struct stage_list *list, FILE *text)
{
    for (size_t i = 0; i < list->count; i++) {
        char **spec = spec_split(list->stages[i].text);
        if (!spec)
            return fail_memory("a stage");
        print_spec(list->stages[i].ops, spec, false, text);
        free(spec);
    }
    return STATUS_OK;
}
