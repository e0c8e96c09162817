/* Where a device is among the memory nodes, read from folders as the kernel makes them, and what a
 * thread that goes there keeps. */
#include "base/machine.h"
#include "command.h"
#include "suite.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

START_TEST(lists_of_processors)
{
    static const char *const good[] = {"0", "0-3", "0-3,8", "5,7,9-10", "1023"};
    static const int counts[] = {1, 4, 5, 4, 1};
    static const char *const bad[] = {
        "", ",", "-1", "3-", "3-1", "0,", "a-b", "0-3 8", "0--3", "1024", "0-99999999999999999999"};
    cpu_set_t cpus;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        ck_assert_msg(numa_parse_cpus(good[i], &cpus), "%s", good[i]);
        ck_assert_int_eq(CPU_COUNT(&cpus), counts[i]);
    }
    ck_assert(numa_parse_cpus("0-3,8", &cpus) && CPU_ISSET(8, &cpus) && !CPU_ISSET(4, &cpus));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!numa_parse_cpus(bad[i], &cpus), "%s", bad[i]);
}

static void write_line(const char *path, const char *line)
{
    FILE *file = fopen(command_path(path), "w");
    ck_assert_msg(file != NULL, "%s", path);
    fprintf(file, "%s\n", line);
    ck_assert_int_eq(fclose(file), 0);
}

static struct numa_place place_with(const char *online, const char *node, const char *cpus)
{
    struct command_result made = command_run("mkdir -p sys/bus/pci/devices/0000:1a:00.0 "
                                             "sys/devices/system/node");
    ck_assert_int_eq(made.code, 0);
    write_line("sys/devices/system/node/online", online);
    write_line("sys/bus/pci/devices/0000:1a:00.0/numa_node", node);
    write_line("sys/bus/pci/devices/0000:1a:00.0/local_cpulist", cpus);
    return numa_place_of(command_path("sys"), "0000:1A:00.0");
}

START_TEST(devices_have_a_node)
{
    static const char *const none[][3] = {
        {"0", "0", "0-3"},    /* one node */
        {"0-1", "-1", "0-3"}, /* of a virtual machine, as a rule */
        {"0-1", "", "0-3"},   {"0-1", "x", "0-3"}, {"0-1", "9999", "0"},   {"0-1", "1", ""},
        {"0-1", "1", "all"},  {"", "1", "0"},      {"0-1", "1", "0-9999"},
    };
    struct numa_place place = place_with("0-1", "1", "24-47,72-95");
    ck_assert_int_eq(place.node, 1);
    ck_assert_int_eq(CPU_COUNT(&place.cpus), 48);
    ck_assert_str_eq(place.cpu_list, "24-47,72-95");
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        place = place_with(none[i][0], none[i][1], none[i][2]);
        ck_assert_msg(place.node == -1, "%s, %s, %s", none[i][0], none[i][1], none[i][2]);
    }
    ck_assert_int_eq(numa_place_of(command_path("sys"), "0000:ff:00.0").node, -1);
    ck_assert_int_eq(numa_place_of("nowhere", "0000:1a:00.0").node, -1);
    ck_assert_int_eq(
        numa_place_of("sys", "../../../0000:1a:00.0 of a name that is far too long").node, -1);
}

static void *count_cpus(void *result)
{
    cpu_set_t cpus;
    *(int *)result = sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus) : 0;
    return NULL;
}

/* A thread that is started there stays there, and the one that was there leaves. */
START_TEST(threads_stay_near)
{
    cpu_set_t before, after;
    struct numa_before kept;
    struct numa_place place = {.node = 0}, far = {.node = 0}, nowhere = {.node = -1};
    pthread_t thread;
    size_t first = 0;
    int near = 0;
    ck_assert_int_eq(sched_getaffinity(0, sizeof before, &before), 0);
    while (!CPU_ISSET(first, &before))
        first++;
    CPU_SET(first, &place.cpus);
    CPU_SET(first, &nowhere.cpus);
    numa_enter(&place, &kept);
    ck_assert_int_eq(pthread_create(&thread, NULL, count_cpus, &near), 0);
    numa_leave(&kept);
    pthread_join(thread, NULL);
    ck_assert_int_eq(near, 1);
    ck_assert_int_eq(sched_getaffinity(0, sizeof after, &after), 0);
    ck_assert(CPU_EQUAL(&before, &after));
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) /* processors that this process may not use */
        if (!CPU_ISSET(cpu, &before))
            CPU_SET(cpu, &far.cpus);
    const struct numa_place *const without[] = {&far, &nowhere};
    for (size_t i = 0; i < 2; i++) {
        numa_enter(without[i], &kept);
        ck_assert_int_eq(sched_getaffinity(0, sizeof after, &after), 0);
        ck_assert(CPU_EQUAL(&before, &after));
        numa_leave(&kept);
    }
}
