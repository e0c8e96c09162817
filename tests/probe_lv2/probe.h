/* An LV2 plugin that tells what its host does: the ports of urn:halo:probe. */
#ifndef HALO_TESTS_PROBE_H
#define HALO_TESTS_PROBE_H

enum probe_port {
    PROBE_IN,
    PROBE_OUT, /* what comes in */
    PROBE_SIDE,
    PROBE_CV_IN,
    PROBE_CV_OUT,
    PROBE_CONTROL, /* events */
    PROBE_NOTIFY,
    PROBE_ASK,          /* in: work is asked for in each run */
    PROBE_SAY,          /* in: an error of this number is logged in each run */
    PROBE_FREEWHEELING, /* in, as designated */
    PROBE_ENABLED,      /* likewise */
    PROBE_VAGUE,        /* in: no default; 2 to 5 */
    PROBE_HERTZ,        /* in: bounds times the rate, a default of 440 */
    PROBE_NYQUIST,      /* in: the same, a default of 0.25 */
    PROBE_BLOCK,        /* out: frames, as the options say: PROBE_BAD where they do not agree */
    PROBE_RATE,         /* out: Hz, likewise */
    PROBE_PROMISES,     /* out: features, enum probe_promise */
    PROBE_ROOM,         /* out: bytes of PROBE_NOTIFY */
    PROBE_NOISE,        /* out: the loudest sample of PROBE_SIDE and PROBE_CV_IN yet */
    PROBE_RESPONSES,    /* out: handed out since it was made */
    PROBE_APART,        /* out: the latest work was done in another thread than the run */
    PROBE_ENDS,         /* out: ends of runs */
    PROBE_RUNS,         /* out */
    PROBE_MESSAGES,     /* out: patch:Set of urn:halo:probe:number */
    PROBE_NUMBER,       /* out: the latest one's value */
    PROBE_ACTIVATIONS,  /* out */
    PROBE_RESTORED,     /* out: from the file that its state names */
    PROBE_PORTS
};

enum probe_promise {
    PROBE_FIXED = 1,
    PROBE_POWER_OF_2 = 2,
    PROBE_LIVE = 4,
    PROBE_DEFAULT_STATE = 8,
    PROBE_BOUNDED = 16,
    PROBE_INSTANCE_ACCESS = 32,
};

enum { PROBE_BAD = -1, PROBE_NOTIFY_BYTES = 100000, PROBE_FILE_NUMBER = 17 };

#endif
