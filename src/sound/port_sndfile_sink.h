/* A sound file or stream as a sink: port_sndfile_sink.c writes it, port_sndfile_sink_open.c opens
 * it, through libsndfile. Private to them. Threads: one at a time.
 *
 * A regular file is written under a hidden name in the same folder and renamed when complete.
 * Anything else (a pipe, a device) is written directly.
 */
#ifndef HALO_PORT_SNDFILE_SINK_H
#define HALO_PORT_SNDFILE_SINK_H

#include "base/atomic_file.h"
#include "sound/channel_order.h"
#include "sound/port.h"
#include "sound/sound_io.h"

struct sound_sink {
    struct sink sink;
    SNDFILE *file;
    int fd;
    struct sound_io io;
    const char *name;           /* for messages */
    struct atomic_file regular; /* empty if written directly */
    struct stream_format format;
    struct channel_order order;
    struct channel_layout stated; /* by the file */
    int major;                    /* that libsndfile writes */
    bool extensible;              /* if it is a WAV */
    bool w64;                     /* whose header is ours, */
    bool w64_extensible;          /* and has a layout */
    bool has_short;               /* integers of 16 bits */
    double most;                  /* the largest sample of any other format */
    struct quantiser *quantiser;  /* of an integer format, else NULL */
    bool rf64;                    /* or downgraded to WAV */
    bool pad_to_even;             /* a WAV chunk of odd length needs a pad byte */
    bool is_finished;             /* but for what follows the samples, and its name */
    uint64_t frames;              /* written */
    int sound_format;             /* of OUT, whoever writes it */
    size_t chunk;                 /* frames */
    void *interleaved;
};

extern const struct sink_kind sound_sink_kind;

/* Open a regular file again. *opens: it is what was written. Errors: reading, memory. */
MUST_CHECK enum status sound_sink_check(const struct sound_sink *sound, bool *opens);

/* The error of a write; 0: what libsndfile says. */
MUST_CHECK enum status sound_sink_refuse(const struct sound_sink *sound, int error);

#endif
