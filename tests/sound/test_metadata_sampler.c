/* Data for samplers stays in its own kind of container, around a whole sound that went through
 * gains alone; all else names it. */
#include "command.h"
#include "suite.h"

#include <string.h>

#define FILES "python3 -S " METADATA_SCRIPTS "/metadata_files.py "
#define RENDER "\"$HALO\" render --no-sync "

static const struct {
    const char *made, *to;
    const char *lost; /* where it is not kept */
} kinds[] = {
    {"wav", "wav", "inst, smpl"}, {"wav", "flac", "inst, smpl"},  {"aiff", "aiff", "INST"},
    {"aiff", "flac", "INST"},     {"caf", "caf", "1 loop, inst"},
};
enum { OWN = sizeof kinds / sizeof *kinds };

static void make_inputs(void)
{
    command_done(FILES "sampler wav in.wav sampler aiff in.aiff sampler caf in.caf");
}

START_TEST(gains_keep_it)
{
    make_inputs();
    for (size_t i = 0; i < OWN; i++) {
        const char *made = kinds[i].made;
        struct command_result result = command_done(
            RENDER "in.%s out.%s -f --gain -6 --normalize -1 && " RENDER "out.%s back%zu.%s -f",
            made, kinds[i].to, kinds[i].to, i, made);
        ck_assert_msg(!strstr(result.err, "keep"), "%s", result.err);
    }
    command_done(FILES "chunks in.* back*");
    for (size_t i = 0; i < OWN; i++)
        command_done("sed 's/ [a-z]*$//' in.%s.chunks | sort >old && "
                     "sed 's/ [a-z]*$//' back%zu.%s.chunks | sort | diff old - >&2",
                     kinds[i].made, i, kinds[i].made);
}

/* A sound that is another one, or is not whole, has no such loops. */
START_TEST(all_else_names_it)
{
    static const char *const ways[] = {"--mask lowpass:1000", "--noise noise.wav,snr=20",
                                       "--gain=-3,at=0.01s:gain=-6", "--start 0.01",
                                       "--duration 0.1"};
    make_inputs();
    command_done("cp in.wav noise.wav");
    for (size_t i = 0; i < OWN; i++) {
        const char *way = ways[i % (sizeof ways / sizeof *ways)];
        const char *said =
            command_done(RENDER "in.%s out%zu.%s %s", kinds[i].made, i, kinds[i].to, way).err;
        command_expect(said, kinds[i].lost);
        command_expect(said, "(loops are kept by whole sounds through gains alone)");
    }
    command_done("rm *.flac; " FILES
                 "chunks out* && ls *.chunks && ! grep -i -e smpl -e inst *.chunks");
}

START_TEST(other_containers_have_no_place)
{
    static const char *const pairs[][2] = {
        {"wav", "aiff"}, {"wav", "caf"}, {"aiff", "wav"}, {"caf", "wav"}};
    make_inputs();
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        command_expect(
            command_done(RENDER "in.%s out.%s -f --gain -6", pairs[i][0], pairs[i][1]).err,
            "(the container has no place for it)");
}
