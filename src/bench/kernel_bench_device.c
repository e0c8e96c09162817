#include "bench/kernel_bench.h"

#include "gpu/gpu.h"

#include <stdio.h>
#include <string.h>

/* Float32 cores of a multiprocessor, by compute capability. */
static int cores_of(int major, int minor)
{
    return major == 7 || (major == 8 && minor == 0) ? 64 : 128;
}

enum status kernel_bench_device_open(struct kernel_bench_device *device)
{
    int count, clock;
    struct cudaDeviceProp properties;
    TRY(gpu_count(&count));
    cudaError_t error = cudaGetDeviceProperties(&properties, 0);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, 0);
    if (error == cudaSuccess)
        error = cudaDriverGetVersion(&device->driver);
    if (error == cudaSuccess)
        error = cudaRuntimeGetVersion(&device->runtime);
    if (error != cudaSuccess)
        return gpu_failed(error, "report its properties");
    device->multiprocessors = properties.multiProcessorCount;
    device->clock = 1e3 * clock;
    device->flops_peak = 2 * device->clock * cores_of(properties.major, properties.minor) *
                         device->multiprocessors;
    device->cache = (size_t)properties.l2CacheSize;
    device->shared = properties.sharedMemPerBlockOptin;
    snprintf(device->name, sizeof device->name, "%s", properties.name);
    return STATUS_OK;
}

void kernel_bench_device_print(const struct kernel_bench_device *device)
{
    printf("%s, %d multiprocessors, %.0f MHz, float32 peak %.1f TFLOP/s; CUDA %d.%d, driver "
           "for %d.%d\n",
           device->name, device->multiprocessors, 1e-6 * device->clock, 1e-12 * device->flops_peak,
           device->runtime / 1000, device->runtime % 1000 / 10, device->driver / 1000,
           device->driver % 1000 / 10);
}

void kernel_bench_device_print_csv(const struct kernel_bench_device *device)
{
    printf("# device,%s\n# flops_peak,%.9g\n", device->name, device->flops_peak);
}

bool kernel_bench_device_parse_csv(struct kernel_bench_device *device, const char *line)
{
    return sscanf(line, "# device,%255[^\n]", device->name) == 1 ||
           sscanf(line, "# flops_peak,%lf", &device->flops_peak) == 1;
}

enum status kernel_bench_device_print_json(const struct kernel_bench_device *device, json_t *report)
{
    json_t *object = json_pack("{s:s, s:i, s:f, s:f, s:i, s:i}", "device", device->name,
                               "multiprocessors", device->multiprocessors, "clock_hz",
                               device->clock, "flops_peak", device->flops_peak, "cuda_runtime",
                               device->runtime, "cuda_driver", device->driver);
    bool failed = !object || json_object_update(object, report) != 0 ||
                  json_dumpf(object, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) != 0;
    putchar('\n');
    json_decref(report);
    json_decref(object);
    return failed ? fail(STATUS_FAILED, "cannot write the report") : STATUS_OK;
}
