#include "gather_cpu.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct gather_cpu gather_cpu;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t let_on = PTHREAD_COND_INITIALIZER;
static bool held;

struct cpu_device {
    struct gather_device base;
    size_t begun, ended;
    const struct gather_batch *running[GATHER_RUNNING_MOST];
};

void gather_cpu_reset(size_t count)
{
    gather_cpu = (struct gather_cpu){.count = count};
    for (size_t d = 0; d < GATHER_CPU_DEVICES; d++)
        gather_cpu.fails[d].begin = gather_cpu.fails[d].end = SIZE_MAX;
    held = false;
}

void gather_cpu_hold(void)
{
    pthread_mutex_lock(&lock);
    held = true;
    pthread_mutex_unlock(&lock);
}

void gather_cpu_let_on(void)
{
    pthread_mutex_lock(&lock);
    held = false;
    pthread_cond_broadcast(&let_on);
    pthread_mutex_unlock(&lock);
}

static enum status cpu_count(size_t *count)
{
    gather_cpu.asked++;
    *count = gather_cpu.count;
    return gather_cpu.count ? STATUS_OK : fail(CAUSE_MISSING, "there is no device");
}

static enum status cpu_open(int number, struct gather_device **result)
{
    struct cpu_device *device = calloc(1, sizeof *device);
    if (!device)
        return fail_memory("a device");
    device->base = (struct gather_device){
        .kind = &gather_cpu_kind,
        .number = number,
        .mask_bytes = gather_cpu.mask_bytes ? gather_cpu.mask_bytes : (size_t)1 << 30};
    *result = &device->base;
    return STATUS_OK;
}

static void cpu_close(struct gather_device *device)
{
    free(device);
}

static struct gather_cost cpu_cost(const struct gather_device *device, size_t taps, size_t frames)
{
    struct gather_cost cost = {.length = 512};
    (void)device;
    while (cost.length < 2 * taps)
        cost.length *= 2;
    cost.rows = (frames + cost.length - 1) / cost.length;
    return cost;
}

static size_t cpu_form_bytes(size_t length)
{
    return length * sizeof(float);
}

static enum status cpu_batch_open(struct gather_device *device, struct gather_batch *batch)
{
    (void)device;
    batch->in = malloc(GATHER_FLOATS_MOST * sizeof *batch->in);
    batch->out = malloc(GATHER_FLOATS_MOST * sizeof *batch->out);
    return batch->in && batch->out ? STATUS_OK : fail_memory("a batch");
}

static void cpu_batch_close(struct gather_device *device, struct gather_batch *batch)
{
    (void)device;
    free(batch->in);
    free(batch->out);
}

static void count_form(const struct gather_form *form, bool comes)
{
    size_t bytes = form->columns * cpu_form_bytes(form->length);
    pthread_mutex_lock(&lock);
    gather_cpu.forms += comes ? 1 : (size_t)-1;
    gather_cpu.form_bytes += comes ? bytes : (size_t)-bytes;
    if (gather_cpu.form_bytes > gather_cpu.form_bytes_most)
        gather_cpu.form_bytes_most = gather_cpu.form_bytes;
    pthread_mutex_unlock(&lock);
}

static void cpu_let_go(struct gather_device *device, struct gather_form *forms)
{
    (void)device;
    for (; forms; forms = forms->next) {
        if (!forms->on_device)
            continue;
        free(forms->on_device);
        forms->on_device = NULL;
        count_form(forms, false);
    }
}

static void note_wrong(void)
{
    pthread_mutex_lock(&lock);
    gather_cpu.wrong = true;
    pthread_mutex_unlock(&lock);
}

/* ---- a batch ---- */

static void take_form(const struct gather_batch *batch, const struct gather_item *item)
{
    struct gather_form *form = item->form;
    size_t bytes = form->columns * form->taps * sizeof(float);
    if (item->taps_at == SIZE_MAX) {
        if (!form->on_device)
            note_wrong();
        return;
    }
    form->on_device = malloc(bytes);
    memcpy(form->on_device, batch->in + item->taps_at, bytes);
    count_form(form, true);
}

static double sum_at(const float *in, size_t at, const float *taps, size_t count)
{
    double sum = 0;
    for (size_t k = 0; k < count && k <= at; k++)
        sum += (double)in[at - k] * (double)taps[k];
    return sum;
}

static void convolve_item(struct gather_batch *batch, const struct gather_item *item)
{
    size_t row = gather_row(item->before + item->frames);
    const float *form = item->form->on_device;
    for (size_t o = 0; o < item->outputs && form; o++)
        for (size_t i = 0; i < item->frames; i++) {
            double sum = 0;
            for (size_t p = item->paths->first[o]; p < item->paths->first[o + 1]; p++) {
                const struct mask_path *path = &item->paths->paths[p];
                sum += sum_at(batch->in + item->in_at + path->input * row, item->before + i,
                              form + path->column * item->taps, item->taps);
            }
            batch->out[item->out_at + o * gather_row(item->frames) + i] = (float)sum;
        }
}

static const char *cpu_begin(struct gather_device *base, struct gather_batch *batch)
{
    struct cpu_device *device = (struct cpu_device *)base;
    size_t number = device->begun++, d = (size_t)base->number;
    if (number == gather_cpu.fails[d].begin)
        return "made to fail at the beginning";
    pthread_mutex_lock(&lock);
    gather_cpu.batches[d]++;
    gather_cpu.items[d][number % GATHER_CPU_BATCHES] = batch->item_count;
    size_t most = batch->in_used > batch->out_used ? batch->in_used : batch->out_used;
    if (most > gather_cpu.floats_most)
        gather_cpu.floats_most = most;
    pthread_mutex_unlock(&lock);
    device->running[number % GATHER_RUNNING_MOST] = batch;
    for (size_t i = 0; i < batch->item_count; i++)
        take_form(batch, &batch->items[i]);
    return NULL;
}

static const char *cpu_end(struct gather_device *base, struct gather_batch *batch)
{
    struct cpu_device *device = (struct cpu_device *)base;
    size_t number = device->ended++;
    pthread_mutex_lock(&lock);
    while (held)
        pthread_cond_wait(&let_on, &lock);
    pthread_mutex_unlock(&lock);
    if (device->running[number % GATHER_RUNNING_MOST] != batch)
        note_wrong();
    if (number == gather_cpu.fails[base->number].end)
        return "made to fail at the end";
    for (size_t i = 0; i < batch->item_count; i++)
        convolve_item(batch, &batch->items[i]);
    return NULL;
}

const struct gather_device_kind gather_cpu_kind = {.name = "cpu",
                                                   .count = cpu_count,
                                                   .open = cpu_open,
                                                   .close = cpu_close,
                                                   .cost = cpu_cost,
                                                   .form_bytes = cpu_form_bytes,
                                                   .batch_open = cpu_batch_open,
                                                   .batch_close = cpu_batch_close,
                                                   .let_go = cpu_let_go,
                                                   .begin = cpu_begin,
                                                   .end = cpu_end};
