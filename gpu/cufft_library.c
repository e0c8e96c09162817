#include "gpu/cufft_library.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)

static const char NAME[] = "libcufft.so." TEXT(CUFFT_VER_MAJOR);

static bool find(void *handle, const char *name, void *function, size_t size)
{
    void *symbol = dlsym(handle, name);
    memcpy(function, &symbol, size); /* ISO C has no cast from void * to a function pointer */
    return symbol;
}

static bool find_all(void *handle, struct cufft_library *library)
{
    return find(handle, "cufftPlan1d", &library->plan, sizeof library->plan) &&
           find(handle, "cufftDestroy", &library->destroy, sizeof library->destroy) &&
           find(handle, "cufftSetStream", &library->set_stream, sizeof library->set_stream) &&
           find(handle, "cufftExecC2C", &library->complex, sizeof library->complex) &&
           find(handle, "cufftExecD2Z", &library->forward_double, sizeof library->forward_double) &&
           find(handle, "cufftExecZ2D", &library->inverse_double, sizeof library->inverse_double);
}

void cufft_library_expect(void)
{
    enum { USUAL = 1 << 18 };
    void *handle = dlopen(NAME, RTLD_NOW | RTLD_LOCAL);
    struct cufft_library library;
    cufftHandle plan;
    if (!handle || !find_all(handle, &library))
        return;
    const cufftType types[] = {CUFFT_D2Z, CUFFT_Z2D};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        if (library.plan(&plan, USUAL, types[t], 1) == CUFFT_SUCCESS)
            library.destroy(plan);
}

static enum status open_library(struct cufft_library *library)
{
    void *handle = dlopen(NAME, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return fail(CAUSE_MISSING,
                    "cannot open %s, which the GPU needs for masks this long (%s); install CUDA's "
                    "libraries or use --backend cpu",
                    NAME, dlerror());
    if (find_all(handle, library))
        return STATUS_OK;
    dlclose(handle);
    return fail(CAUSE_UNSUPPORTED, "%s lacks a function that the GPU needs for masks this long",
                NAME);
}

enum status cufft_library_open(const struct cufft_library **result)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct cufft_library library;
    static bool is_open;
    *result = &library;
    pthread_mutex_lock(&lock);
    enum status status = is_open ? STATUS_OK : open_library(&library);
    is_open = status == STATUS_OK;
    pthread_mutex_unlock(&lock);
    return status;
}

enum status cufft_library_plan(const struct cufft_library *library, int length, cufftType type,
                               int batch, cufftHandle *plan)
{
    cufftResult result = library->plan(plan, length, type, batch);
    if (result == CUFFT_SUCCESS)
        return STATUS_OK;
    *plan = 0;
    return fail(result == CUFFT_ALLOC_FAILED ? CAUSE_NO_MEMORY : CAUSE_DEVICE,
                "cuFFT failed to plan a transform of %d points: error %d; use --backend cpu",
                length, (int)result);
}

cudaError_t cufft_library_error(cufftResult result)
{
    if (result == CUFFT_SUCCESS)
        return cudaSuccess;
    cudaError_t error = cudaGetLastError();
    return error == cudaSuccess ? cudaErrorUnknown : error;
}
