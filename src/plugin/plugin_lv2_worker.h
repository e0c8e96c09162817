/* LV2's worker extension: does what run() of a plugin postpones, such as loading a file.
 *
 * Requests and responses go through rings, in order. A worker with a thread of its own polls for
 * requests, so that the step makes no system call; else they are served in lv2_worker_respond, just
 * after run().
 */
#ifndef HALO_PLUGIN_LV2_WORKER_H
#define HALO_PLUGIN_LV2_WORKER_H

#include "base/status.h"

#include <lilv/lilv.h>
#include <lv2/worker/worker.h>

struct lv2_worker;

/* Before the plugin is there, since it asks for the feature when it is made.
 * Errors: memory. */
MUST_CHECK enum status lv2_worker_create(struct lv2_worker **worker);

/* The feature's data. Its schedule_work is real-time. */
LV2_Worker_Schedule *lv2_worker_feature(struct lv2_worker *worker);

/* It serves this instance from now on. */
void lv2_worker_serve(struct lv2_worker *worker, LilvInstance *instance);

/* Start a thread. Does nothing for a plugin without work. Errors: no thread. */
MUST_CHECK enum status lv2_worker_start(struct lv2_worker *worker);

/* After run(), in its thread: do the work where there is no thread, deliver the responses, end the
 * run. Returns whether anything happened. Real-time with a thread. */
bool lv2_worker_respond(struct lv2_worker *worker);

/* In between the thread does nothing, and lv2_worker_respond does all work itself: for calls that
 * must not run beside it. The step does not run meanwhile. */
void lv2_worker_pause(struct lv2_worker *worker);
void lv2_worker_resume(struct lv2_worker *worker);

/* Whether the plugin has the extension. */
bool lv2_worker_serves(const struct lv2_worker *worker);

/* Drop all requests and responses: before it serves another instance. Paused. */
void lv2_worker_forget(struct lv2_worker *worker);

/* Ends the thread, once it is done with what it does; before the instance goes, whose feature
 * stays until lv2_worker_destroy. */
void lv2_worker_stop(struct lv2_worker *worker);
void lv2_worker_destroy(struct lv2_worker *worker);

#endif
