/* The limits of control groups, read from files as the kernel makes them. */
#include "base/machine.h"
#include "command.h"
#include "suite.h"

#include <stdio.h>

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(command_path(path), "w");
    ck_assert_msg(file != NULL, "%s", path);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
}

static uint64_t limit_with(const char *groups, const char *mounts)
{
    char mount[4096], whole[4096];
    snprintf(mount, sizeof mount, "%s", command_path("fs"));
    snprintf(whole, sizeof whole, mounts, mount, mount);
    write_file("cgroup", groups);
    write_file("mountinfo", whole);
    char cgroup[4096];
    snprintf(cgroup, sizeof cgroup, "%s", command_path("cgroup"));
    return memory_limit_of_groups(cgroup, command_path("mountinfo"));
}

#define V1 "35 31 0:32 / %s/memory rw,relatime shared:7 - cgroup cgroup rw,memory\n"
#define V2 "31 24 0:27 / %s/two rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"

START_TEST(the_least_of_a_group_and_those_around_it)
{
    command_done("mkdir -p fs/memory/job/step fs/two/user/run");
    write_file("fs/memory/memory.limit_in_bytes", "9223372036854771712\n");
    write_file("fs/memory/job/memory.limit_in_bytes", "157286400\n");
    write_file("fs/memory/job/step/memory.limit_in_bytes", "9223372036854771712\n");
    write_file("fs/two/user/memory.max", "262144000\n");
    write_file("fs/two/user/run/memory.max", "max\n");
    ck_assert_uint_eq(limit_with("9:cpu,cpuacct:/\n4:memory:/job/step\n0::/\n", V1 V2), 157286400);
    ck_assert_uint_eq(limit_with("4:hugetlb,memory:/job\n", V1 V2), 157286400);
    ck_assert_uint_eq(limit_with("4:memory:/\n0::/user/run\n", V1 V2), 262144000);
    ck_assert_uint_eq(limit_with("0::/user/run\n", V2), 262144000);
    write_file("fs/two/user/run/memory.max", "1048576\n");
    ck_assert_uint_eq(limit_with("0::/user/run\n", V2), 1048576);
    ck_assert_uint_eq(limit_with("4:memoryless:/job\n3:name=memory:/job\n0::/other\n", V1 V2),
                      UINT64_MAX);
}

/* A container sees its group as the whole tree, and may read the host's name of it. */
START_TEST(a_container)
{
    command_done("mkdir -p fs/memory");
    write_file("fs/memory/memory.limit_in_bytes", "73400320\n");
    ck_assert_uint_eq(
        limit_with("4:memory:/docker/4f2c\n",
                   "35 31 0:32 /docker/4f2c %s/memory ro - cgroup cgroup rw,memory\n"),
        73400320);
    ck_assert_uint_eq(limit_with("4:memory:/\n", V1), 73400320);
}

START_TEST(without_control_groups_there_is_no_limit)
{
    ck_assert_uint_eq(limit_with("", ""), UINT64_MAX);
    ck_assert_uint_eq(limit_with("4:memory\n0:\n::\n", "35 31\n - cgroup\n"), UINT64_MAX);
    ck_assert_uint_eq(memory_limit_of_groups("absent", "absent"), UINT64_MAX);
    ck_assert(memory_limit() > 0);
}
