#include "gpu/cufft_library.h"

#include <dlfcn.h>
#include <string.h>

#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)

static const char NAME[] = "libcufft.so." TEXT(CUFFT_VER_MAJOR);

static bool find(void *handle, const char *name, void *function, size_t size)
{
    void *symbol = dlsym(handle, name);
    memcpy(function, &symbol, size); /* a data pointer does not convert to a function's */
    return symbol;
}

enum status cufft_library_open(const struct cufft_library **result)
{
    static struct cufft_library library;
    static bool is_open;
    *result = &library;
    if (is_open)
        return STATUS_OK;
    void *handle = dlopen(NAME, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return fail(STATUS_FAILED,
                    "cannot open %s, which the GPU needs for masks this long (%s); install CUDA's "
                    "libraries or use --backend cpu",
                    NAME, dlerror());
    is_open = find(handle, "cufftPlan1d", &library.plan, sizeof library.plan) &&
              find(handle, "cufftDestroy", &library.destroy, sizeof library.destroy) &&
              find(handle, "cufftSetStream", &library.set_stream, sizeof library.set_stream) &&
              find(handle, "cufftExecC2C", &library.transform, sizeof library.transform);
    if (is_open)
        return STATUS_OK;
    dlclose(handle);
    return fail(STATUS_FAILED, "%s lacks a function that the GPU needs for masks this long", NAME);
}
