#include "lab_device.h"

#include "gpu.h"

#include <stdio.h>
#include <string.h>

#define TRY(call, what)                                                                            \
    do {                                                                                           \
        cudaError_t try_error = (call);                                                            \
        if (try_error != cudaSuccess)                                                              \
            return gpu_failed(try_error, what);                                                    \
    } while (0)

/* Float32 cores of a multiprocessor, by compute capability. */
static int cores_of(int major, int minor)
{
    return major == 7 || (major == 8 && minor == 0) ? 64 : 128;
}

enum status lab_device_open(struct lab_device *device)
{
    int count, major, minor, kilohertz, cache;
    struct cudaDeviceProp properties;
    enum status status = gpu_count(&count);
    if (status != STATUS_OK)
        return status;
    TRY(cudaGetDeviceProperties(&properties, 0), "tell its properties");
    TRY(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0), "tell its kind");
    TRY(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0), "tell its kind");
    TRY(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, 0), "tell its clock");
    TRY(cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, 0), "tell its cache");
    *device = (struct lab_device){
        .multiprocessors = properties.multiProcessorCount,
        .clock = 1e3 * kilohertz,
        .flops_peak = 2e3 * kilohertz * cores_of(major, minor) * properties.multiProcessorCount,
        .cache = (size_t)cache,
    };
    snprintf(device->name, sizeof device->name, "%s", properties.name);
    TRY(cudaDriverGetVersion(&device->driver), "tell its driver");
    TRY(cudaRuntimeGetVersion(&device->runtime), "tell its runtime");
    return STATUS_OK;
}

void lab_device_print(const struct lab_device *device)
{
    printf("%s, %d multiprocessors, %.0f MHz, float32 peak %.1f TFLOP/s; CUDA %d.%d, driver "
           "for %d.%d\n",
           device->name, device->multiprocessors, 1e-6 * device->clock, 1e-12 * device->flops_peak,
           device->runtime / 1000, device->runtime % 1000 / 10, device->driver / 1000,
           device->driver % 1000 / 10);
}

void lab_device_print_csv(const struct lab_device *device)
{
    printf("# device,%s\n# flops_peak,%.9g\n", device->name, device->flops_peak);
}

bool lab_device_parse_csv(struct lab_device *device, const char *line)
{
    return sscanf(line, "# device,%255[^\n]", device->name) == 1 ||
           sscanf(line, "# flops_peak,%lf", &device->flops_peak) == 1;
}

enum status lab_device_print_json(const struct lab_device *device, json_t *report)
{
    json_t *stats = json_pack("{s:s, s:i, s:f, s:f, s:i, s:i}", "device", device->name,
                              "multiprocessors", device->multiprocessors, "clock_hz", device->clock,
                              "flops_peak", device->flops_peak, "cuda_runtime", device->runtime,
                              "cuda_driver", device->driver);
    bool failed = !stats || json_object_update(stats, report) != 0 ||
                  json_dumpf(stats, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) != 0;
    putchar('\n');
    json_decref(report);
    json_decref(stats);
    return failed ? fail(STATUS_FAILED, "cannot write the report") : STATUS_OK;
}
