/* Does what an LV2 plugin's run() puts off (loading a file): LV2's worker extension.
 *
 * Requests and responses go through rings, in order. A worker that works apart has a thread
 * of its own, which looks for requests by its clock, so that the step has no system call to
 * make; else what was asked for is done in lv2_worker_respond, just after run().
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

/* Work apart from now on. Errors: no thread to be had. Nothing to do where the plugin has no
 * work. */
MUST_CHECK enum status lv2_worker_start(struct lv2_worker *worker);

/* After run(), in its thread: work where nobody else does; hand out the responses; end the
 * run. Returns whether anything happened. Real-time where it works apart. */
bool lv2_worker_respond(struct lv2_worker *worker);

/* Between the two nothing is done beside the caller, and lv2_worker_respond does all work itself:
 * for calls that must not run beside it. The step does not run meanwhile. */
void lv2_worker_pause(struct lv2_worker *worker);
void lv2_worker_resume(struct lv2_worker *worker);

/* Has the plugin work to put off at all? */
bool lv2_worker_serves(const struct lv2_worker *worker);

/* What was asked for and answered is forgotten: before it serves another instance. Paused. */
void lv2_worker_forget(struct lv2_worker *worker);

/* Ends the thread, once it is done with what it does; before the instance goes, whose feature
 * stays until lv2_worker_destroy. */
void lv2_worker_stop(struct lv2_worker *worker);
void lv2_worker_destroy(struct lv2_worker *worker);

#endif
