/* A JACK client that filters two channels live, without added delay, and switches among masks: each
 * line of standard input begins a crossfade to the next one, its end ends the client.
 *
 *   cc jack.c $(pkg-config --cflags --libs halo jack) -o jack
 *   ./jack hall.wav room:rt60=0.5
 */
#include <halo/halo.h>
#include <jack/jack.h>
#include <stdio.h>

enum { CHANNELS = 2, MASKS_MOST = 16 };

struct client {
    jack_client_t *jack;
    jack_port_t *in[CHANNELS], *out[CHANNELS];
    struct halo_mask *masks[MASKS_MOST];
    size_t count;
    struct halo_convolver *convolver;
};

/* Real-time: periods may have any length. */
static int process(jack_nframes_t frames, void *argument)
{
    struct client *client = argument;
    const float *in[CHANNELS];
    float *out[CHANNELS];
    for (int c = 0; c < CHANNELS; c++) {
        in[c] = jack_port_get_buffer(client->in[c], frames);
        out[c] = jack_port_get_buffer(client->out[c], frames);
    }
    return halo_convolver_process_channels(client->convolver, in, out, frames) != HALO_OK;
}

/* All masks, and a convolver for the longest. */
static enum halo_status load(struct client *client, char **specs, struct halo_error *error)
{
    struct halo_convolver_options options = {.size = sizeof options};
    for (; specs[client->count] && client->count < MASKS_MOST; client->count++) {
        struct halo_mask_info info = {.size = sizeof info};
        enum halo_status status =
            halo_mask_load(specs[client->count], jack_get_sample_rate(client->jack), CHANNELS,
                           &client->masks[client->count], error);
        if (status != HALO_OK)
            return status;
        halo_mask_describe(client->masks[client->count], &info);
        options.taps = info.taps > options.taps ? info.taps : options.taps;
    }
    return halo_convolver_create(client->masks[0], &options, &client->convolver, error);
}

static int play(struct client *client)
{
    char line[256], name[8];
    struct halo_error error;
    for (int c = 0; c < CHANNELS; c++) {
        snprintf(name, sizeof name, "in_%d", c + 1);
        client->in[c] =
            jack_port_register(client->jack, name, JACK_DEFAULT_AUDIO_TYPE, JackPortIsInput, 0);
        snprintf(name, sizeof name, "out_%d", c + 1);
        client->out[c] =
            jack_port_register(client->jack, name, JACK_DEFAULT_AUDIO_TYPE, JackPortIsOutput, 0);
    }
    jack_set_process_callback(client->jack, process, client);
    if (jack_activate(client->jack) != 0)
        return fprintf(stderr, "cannot activate the client\n"), 1;
    puts("ready");
    fflush(stdout);
    for (size_t next = 1; fgets(line, sizeof line, stdin); next++)
        if (halo_convolver_switch(client->convolver, client->masks[next % client->count], 0,
                                  jack_get_sample_rate(client->jack) / 20, &error) != HALO_OK)
            fprintf(stderr, "%s\n", error.text);
    jack_deactivate(client->jack);
    return 0;
}

int main(int count, char **arguments)
{
    struct client client = {.jack = NULL};
    struct halo_error error;
    if (count < 2)
        return fprintf(stderr, "usage: jack MASK...\n"), 2;
    client.jack = jack_client_open("halo-example", JackNoStartServer, NULL);
    if (!client.jack)
        return fprintf(stderr, "cannot reach a JACK server\n"), 1;
    int failed = load(&client, arguments + 1, &error) != HALO_OK;
    if (failed)
        fprintf(stderr, "%s\n", error.text);
    else
        failed = play(&client);
    jack_client_close(client.jack);
    halo_convolver_destroy(client.convolver);
    for (size_t m = 0; m < client.count; m++)
        halo_mask_destroy(client.masks[m]);
    return failed;
}
