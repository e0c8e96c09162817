#include "live/session/live_pages.h"

#include "base/json_text.h"
#include "base/monotonic.h"
#include "live/session/live_offers.h"
#include "live/session/live_state.h"
#include "live/web/responses.h"
#include "live/web/spectrum.h"
#include "web/web_server.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double SPECTRUM_EVERY = 0.2; /* seconds */
static const double CHAIN_EVERY = 2;      /* seconds: presets may have changed elsewhere */

struct live_pages {
    struct live_web *web;
    struct responses *responses;
    struct live_web_page asked[WEB_CLIENTS_MOST]; /* who asked last for a response, by number */
    struct spectrum *spectra[2];                  /* spectra of input and output */
    size_t channels[2];
    uint32_t rate;
    double spectrum_at, chain_at; /* monotonic seconds: when these were shown last */
    json_t *chain;                /* the chain as shown last; NULL: not yet */
    uint64_t version;             /* rises when the chain, a mask or a control changes */
    uint64_t outages;             /* number of late and lost blocks, as shown last */
};

/* ---- spectra ---- */

static void free_spectra(struct live_pages *pages)
{
    for (size_t i = 0; i < 2; i++) {
        spectrum_destroy(pages->spectra[i]);
        pages->spectra[i] = NULL;
    }
}

/* Makes spectra for the stream as it is. Without memory there are none. */
static void fit_spectra(struct live_pages *pages, const struct live_history *const histories[2],
                        uint32_t rate)
{
    for (size_t i = 0; i < 2; i++) {
        size_t channels = histories[i] ? histories[i]->ring.channels : 0;
        if (pages->spectra[i] && pages->channels[i] == channels && pages->rate == rate)
            continue;
        spectrum_destroy(pages->spectra[i]);
        pages->spectra[i] = NULL;
        pages->channels[i] = channels;
        if (channels > 0 && spectrum_create(channels, rate, &pages->spectra[i]) != STATUS_OK)
            pages->spectra[i] = NULL;
    }
    pages->rate = rate;
}

/* Appends the bands as ,"NAME":[-20.5,...] with one decimal. This happens often, so it
 * does without numbers of the JSON library. Null: there is no reading. */
static void append_bands(char *text, size_t size, const char *name, struct spectrum *spectrum,
                         const struct live_history *history)
{
    float db[SPECTRUM_BANDS];
    bool is_read = spectrum && history && spectrum_read(spectrum, history, db);
    size_t at = strlen(text);
    at += (size_t)snprintf(text + at, size - at, ",\"%s\":%s", name, is_read ? "[" : "null");
    for (size_t i = 0; is_read && i < SPECTRUM_BANDS; i++) {
        int tenths = (int)lrintf(10 * db[i]);
        at += (size_t)snprintf(text + at, size - at, "%s%s%d.%d", i > 0 ? "," : "",
                               tenths < 0 ? "-" : "", abs(tenths) / 10, abs(tenths) % 10);
    }
    if (is_read)
        snprintf(text + at, size - at, "]");
}

static void show_spectrum(struct live_pages *pages, const struct stream_session *stream)
{
    enum { BAND_BYTES = 8 }; /* ",-144.0" */
    const struct live_history *const histories[] = {live_input_of(stream->live),
                                                    live_output_of(stream->live)};
    char text[2 * SPECTRUM_BANDS * BAND_BYTES + 100] = "{\"event\":\"spectrum\"";
    double now = monotonic_seconds();
    if (now < pages->spectrum_at + SPECTRUM_EVERY)
        return;
    pages->spectrum_at = now;
    fit_spectra(pages, histories, stream->info.rate);
    append_bands(text, sizeof text, "in", pages->spectra[0], histories[0]);
    append_bands(text, sizeof text, "out", stream->blind ? NULL : pages->spectra[1], histories[1]);
    strcat(text, "}");
    live_web_publish_text(pages->web, LIVE_WEB_SPECTRUM, text);
}

/* ---- the chain ---- */

static void show_chain(struct live_session *session)
{
    struct live_pages *pages = session->pages;
    double now = monotonic_seconds();
    if (pages->chain && !session->stream.changed && now < pages->chain_at + CHAIN_EVERY)
        return;
    pages->chain_at = now;
    pages->version += session->stream.changed;
    session->stream.changed = false;
    json_t *chain = live_state_chain(session);
    if (chain && !json_equal(chain, pages->chain)) {
        json_decref(pages->chain);
        pages->chain = json_incref(chain);
        view_object(session->stream.view, json_incref(chain));
        if (pages->web)
            live_web_publish(pages->web, LIVE_WEB_CHAIN, json_incref(chain));
    }
    json_decref(chain);
}

static void show_outages(struct live_pages *pages, const struct ledger *ledger)
{
    if (pages->outages == ledger->late + ledger->lost)
        return;
    pages->outages = ledger->late + ledger->lost;
    live_web_publish(pages->web, LIVE_WEB_OUTAGES,
                     json_pack("{s:s, s:o}", "event", "outages", "list", ledger_json(ledger)));
}

void live_pages_show(struct live_session *session, const struct live_status *status)
{
    struct live_pages *pages = session->pages;
    if (pages->web || session->options->play.json)
        show_chain(session);
    if (!live_web_has_pages(pages->web))
        return;
    const struct live_status shown = view_visible(status);
    live_web_publish(pages->web, LIVE_WEB_STATUS, view_status_json(&shown));
    show_spectrum(pages, &session->stream);
    if (!session->stream.blind)
        show_outages(pages, &session->stream.load.ledger);
    live_web_flush(pages->web);
}

/* They are many, so they are not part of the chain, which is shown after each change. */
static void show_offers(const struct live_session *session)
{
    live_web_publish(session->pages->web, LIVE_WEB_OFFERS, json_incref(session->offers));
    live_web_flush(session->pages->web);
}

/* ---- requests ---- */

static enum status ask_curves(struct live_session *session, const struct live_web_request *request)
{
    struct live_pages *pages = session->pages;
    if (session->stream.blind)
        return fail(CAUSE_USAGE, "a blind comparison runs");
    if (pages->asked[request->page.number].visit != request->page.visit)
        responses_forget(pages->responses, request->page.number);
    pages->asked[request->page.number] = request->page;
    return responses_ask(pages->responses, &session->stream,
                         &(struct response_request){
                             .client = request->page.number,
                             .id = request->id,
                             .mask = request->curves.of_mask,
                             .choice = request->curves.choice,
                             .input = request->curves.input,
                             .output = request->curves.output,
                         });
}

static void take_requests(struct live_session *session)
{
    struct live_pages *pages = session->pages;
    struct live_web_request request;
    for (size_t i = 0; i < LIVE_WEB_REQUESTS_MOST && live_web_take(pages->web, &request); i++) {
        char reason[TASK_REASON];
        request.command.is_remote = true;
        const struct log_keeper before = log_keep_in(reason, sizeof reason);
        enum status status = request.wants_curves ? ask_curves(session, &request)
                                                  : live_control_obey(session, &request.command);
        log_keep_again(&before);
        if (status != STATUS_OK || !request.wants_curves)
            live_web_answer(pages->web, &request, status == STATUS_OK ? NULL : reason);
        session->stream.changed = session->stream.changed || !request.wants_curves;
        pages->version += !request.wants_curves; /* the next curves are of what it has changed */
    }
}

/* In a blind comparison, curves that were asked for before are not shown. */
static void send_curves(struct live_session *session)
{
    struct live_pages *pages = session->pages;
    struct response_answer answer;
    while (responses_take(pages->responses, &session->stream, pages->version, &answer)) {
        const struct live_web_request request = {.page = pages->asked[answer.client],
                                                 .id = answer.id};
        if (answer.text && !session->stream.blind)
            live_web_send_text(pages->web, &request.page, answer.text);
        else
            live_web_answer(pages->web, &request,
                            answer.text ? "a blind comparison runs" : answer.reason);
        free(answer.text);
    }
}

void live_pages_advance(struct live_session *session)
{
    if (!session->pages->web)
        return;
    take_requests(session);
    send_curves(session);
    if (live_offers_advance(session))
        show_offers(session);
}

/* ---- begin and end ---- */

static void pass_on(void *context, bool is_warning, const char *text)
{
    live_web_send(context, NULL,
                  json_pack("{s:s, s:o, s:b}", "event", "message", "text", json_text(text),
                            "warning", is_warning));
}

enum status live_pages_open(struct live_session *session)
{
    struct live_pages *pages = calloc(1, sizeof *pages);
    if (!pages)
        return fail_memory("pages");
    session->pages = pages;
    pages->outages = UINT64_MAX;
    if (!session->options->web.wanted)
        return STATUS_OK;
    TRY(responses_create(WEB_CLIENTS_MOST, &pages->responses));
    TRY(live_offers_begin(session));
    TRY(live_web_open(&session->options->web, &pages->web));
    session->stream.web = pages->web;
    show_offers(session);
    return STATUS_OK;
}

void live_pages_begin(struct live_session *session)
{
    struct live_web *web = session->pages->web;
    if (!web)
        return;
    /* A service is quiet, and prints only warnings; its journal needs the link. */
    view_warning(session->stream.view, "web page: %s", live_web_link(web));
    view_hear(session->stream.view, pass_on, web);
}

void live_pages_close(struct live_session *session)
{
    struct live_pages *pages = session->pages;
    if (!pages)
        return;
    if (session->stream.view)
        view_hear(session->stream.view, NULL, NULL);
    live_web_close(pages->web);
    session->stream.web = NULL;
    responses_destroy(pages->responses);
    live_offers_end(session);
    free_spectra(pages);
    json_decref(pages->chain);
    free(pages);
    session->pages = NULL;
}
