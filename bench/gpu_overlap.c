/* Records when copies and kernels ran on the GPU while a program used it, and prints how
 * much of their time overlapped. Loaded by the CUDA driver itself where
 * CUDA_INJECTION64_PATH names it; bench/gpu_overlap builds it and does so. */
#include <cupti.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { BUFFER_BYTES = 8 << 20, ALIGNMENT = 8 };
enum lane { UP, DOWN, WORK, LANES };

static const char *const lane_names[LANES] = {"copies to the GPU", "copies back", "kernels"};

struct spans {
    uint64_t (*span)[2]; /* begin and end, in ns */
    size_t count, capacity;
    uint64_t bytes;
};

static struct spans lanes[LANES];

static void add(enum lane lane, uint64_t begin, uint64_t end, uint64_t bytes)
{
    struct spans *spans = &lanes[lane];
    if (spans->count == spans->capacity) {
        spans->capacity = spans->capacity ? 2 * spans->capacity : 1024;
        spans->span = realloc(spans->span, spans->capacity * sizeof *spans->span);
        if (!spans->span)
            abort();
    }
    spans->span[spans->count][0] = begin;
    spans->span[spans->count++][1] = end;
    spans->bytes += bytes;
}

static void note(const CUpti_Activity *record)
{
    if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
        const CUpti_ActivityMemcpy6 *copy = (const void *)record;
        if (copy->copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD)
            add(UP, copy->start, copy->end, copy->bytes);
        else if (copy->copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH)
            add(DOWN, copy->start, copy->end, copy->bytes);
    } else if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
        const CUpti_ActivityKernel10 *kernel = (const void *)record;
        add(WORK, kernel->start, kernel->end, 0);
    }
}

static void CUPTIAPI give_buffer(uint8_t **buffer, size_t *size, size_t *records)
{
    *size = BUFFER_BYTES;
    *records = 0;
    *buffer = aligned_alloc(ALIGNMENT, BUFFER_BYTES);
}

static void CUPTIAPI take_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                                 size_t valid)
{
    (void)context, (void)stream, (void)size;
    for (CUpti_Activity *record = NULL;
         cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS;)
        note(record);
    free(buffer);
}

static int by_begin(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (x[0] > y[0]) - (x[0] < y[0]);
}

/* Sort the spans and join those that touch. */
static void merge(struct spans *spans)
{
    size_t kept = 0;
    qsort(spans->span, spans->count, sizeof *spans->span, by_begin);
    for (size_t i = 0; i < spans->count; i++) {
        uint64_t *last = kept ? spans->span[kept - 1] : NULL;
        if (last && spans->span[i][0] <= last[1]) {
            last[1] = last[1] < spans->span[i][1] ? spans->span[i][1] : last[1];
            continue;
        }
        spans->span[kept][0] = spans->span[i][0];
        spans->span[kept++][1] = spans->span[i][1];
    }
    spans->count = kept;
}

static double length_ms(const struct spans *spans)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < spans->count; i++)
        sum += spans->span[i][1] - spans->span[i][0];
    return 1e-6 * (double)sum;
}

static double common_ms(const struct spans *a, const struct spans *b)
{
    uint64_t sum = 0;
    for (size_t i = 0, j = 0; i < a->count && j < b->count;) {
        uint64_t begin = a->span[i][0] > b->span[j][0] ? a->span[i][0] : b->span[j][0];
        uint64_t end = a->span[i][1] < b->span[j][1] ? a->span[i][1] : b->span[j][1];
        sum += end > begin ? end - begin : 0;
        if (a->span[i][1] < b->span[j][1])
            i++;
        else
            j++;
    }
    return 1e-6 * (double)sum;
}

static void print_table(void)
{
    cuptiActivityFlushAll(1);
    for (int lane = 0; lane < LANES; lane++)
        merge(&lanes[lane]);
    printf(
        "| | ms busy | overlapping copies to the GPU | overlapping copies back | overlapping kernels "
        "| GB/s |\n|---|---|---|---|---|---|\n");
    for (int lane = 0; lane < LANES; lane++) {
        double ms = length_ms(&lanes[lane]);
        printf("| %s | %.1f |", lane_names[lane], ms);
        for (int other = 0; other < LANES; other++)
            if (other == lane)
                printf(" |");
            else
                printf(" %.0f %% |", 100 * common_ms(&lanes[lane], &lanes[other]) / ms);
        if (lane == WORK)
            printf(" |\n");
        else
            printf(" %.1f |\n", 1e-6 * (double)lanes[lane].bytes / ms);
    }
}

/* The driver calls this when it starts. */
int InitializeInjection(void)
{
    cuptiActivityRegisterCallbacks(give_buffer, take_buffer);
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY);
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    return atexit(print_table) == 0;
}
