/* An LV2 plugin that reports what its host does: the ports of urn:halo:probe. */
#ifndef HALO_TESTS_PROBE_H
#define HALO_TESTS_PROBE_H

enum probe_port {
    PROBE_IN,
    PROBE_OUT, /* the input copied */
    PROBE_SIDE,
    PROBE_CV_IN,
    PROBE_CV_OUT,
    PROBE_CONTROL, /* events */
    PROBE_NOTIFY,
    PROBE_ASK,          /* in: requests work in each run */
    PROBE_SAY,          /* in: logs an error with this number in each run */
    PROBE_FREEWHEELING, /* in, by its designation */
    PROBE_ENABLED,      /* in, by its designation */
    PROBE_VAGUE,        /* in: no default; 2 to 5 */
    PROBE_HERTZ,        /* in: bounds in multiples of the rate, default 440 */
    PROBE_NYQUIST,      /* in: the same, default 0.25 */
    PROBE_BLOCK,        /* out: frames, from the options: PROBE_BAD where they disagree */
    PROBE_RATE,         /* out: Hz, from the options */
    PROBE_PROMISES,     /* out: features, enum probe_promise */
    PROBE_CAPACITY,     /* out: bytes of PROBE_NOTIFY */
    PROBE_NOISE,        /* out: the loudest sample of PROBE_SIDE and PROBE_CV_IN so far */
    PROBE_RESPONSES,    /* out: responses delivered so far */
    PROBE_OTHER_THREAD, /* out: the latest work was done in another thread than run */
    PROBE_ENDS,         /* out: number of end_run calls */
    PROBE_RUNS,         /* out */
    PROBE_MESSAGES,     /* out: patch:Set of urn:halo:probe:number */
    PROBE_NUMBER,       /* out: its latest value */
    PROBE_ACTIVATIONS,  /* out */
    PROBE_RESTORED,     /* out: from the file named in its state */
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
