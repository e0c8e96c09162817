#include "base/machine.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The value of the first line "key ... : value". */
static void read_line(const char *path, const char *key, char text[MACHINE_TEXT])
{
    char line[MACHINE_TEXT];
    FILE *file = fopen(path, "re");
    *text = '\0';
    while (file && !*text && fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        if (colon && strncmp(line, key, strlen(key)) == 0)
            snprintf(text, MACHINE_TEXT, "%s", colon + strspn(colon, ": \t"));
    }
    if (file)
        fclose(file);
    text[strcspn(text, "\n")] = '\0';
}

static const char *vectors(void)
{
#ifdef __x86_64__
    return __builtin_cpu_supports("avx512f") ? "avx512"
           : __builtin_cpu_supports("avx2")  ? "avx2"
           : __builtin_cpu_supports("avx")   ? "avx"
                                             : "sse2";
#else
    return "";
#endif
}

static void append(char text[MACHINE_TEXT], const char *more)
{
    size_t length = strlen(text);
    snprintf(text + length, MACHINE_TEXT - length, "%s%s", length > 0 ? " " : "", more);
}

void machine_processor(char text[MACHINE_TEXT])
{
    read_line("/proc/cpuinfo", "model name", text);
    append(text, vectors());
}

size_t machine_processors(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (size_t)CPU_COUNT(&set) : 1;
}

bool machine_may_have_gpu(void)
{
    return access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0;
}
