/* libFuzzer target for command lines, a word a line. Commands are parsed but not run. */
#include "command/commands.h"
#include "fuzz.h"

enum { COMMANDS_MOST = 64, WORDS_MOST = 64 };

static struct command copies[COMMANDS_MOST];
static const struct command *lists[COMMANDS_MOST][COMMANDS_MOST];
static size_t copy_count;

static enum status do_nothing(void *options)
{
    (void)options;
    return STATUS_OK;
}

static enum status leave(int argc, char **argv)
{
    (void)argc, (void)argv;
    return STATUS_OK;
}

static const struct command *copy_of(const struct command *command)
{
    if (copy_count == COMMANDS_MOST)
        abort();
    size_t at = copy_count++, count = 0;
    copies[at] = *command;
    if (command->run)
        copies[at].run = do_nothing;
    if (command->main)
        copies[at].main = leave;
    for (const struct command *const *own = command->commands; own && *own; own++)
        lists[at][count++] = copy_of(*own);
    if (command->commands)
        copies[at].commands = lists[at];
    return &copies[at];
}

/* Files that options name are looked for in an empty folder. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    static char folder[] = "/tmp/halo-fuzz-XXXXXX";
    if (!mkdtemp(folder) || chdir(folder) != 0 || rmdir(folder) != 0 ||
        !freopen("/dev/null", "w", stdout))
        abort();
    (void)copy_of(&command_halo);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), *rest = text, name[] = "halo";
    char *words[WORDS_MOST + 2] = {name};
    int count = 1;
    while (rest && count <= WORDS_MOST)
        words[count++] = strsep(&rest, "\n");
    fuzz_begin();
    fuzz_end(program_run(&copies[0], count, words));
    free(text);
    return 0;
}
