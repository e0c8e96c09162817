# CUDA, and the GPUs that its kernels are built for. -DCMAKE_CUDA_ARCHITECTURES=... decides, as
# always with CMake: all-major, what a release is built with, makes machine code for every one.
# It takes many times as long as a single one, so without a choice it is this machine's GPUs;
# and where there is none, only PTX of the lowest architecture that the toolkit (and the live
# kernel, which needs 7.0) knows: the driver of any GPU from there on compiles it when it is
# first used.
if(CUDAToolkit_VERSION VERSION_LESS 13)
  set(lowest 70)
  set(every 70 75 80 86 89 90)
else()
  set(lowest 75)
  set(every all-major)
endif()
if(CMAKE_CUDA_ARCHITECTURES STREQUAL "all-major")
  set(CMAKE_CUDA_ARCHITECTURES ${every}) # the toolkit's own begin at 5.0 before version 13
elseif(NOT CMAKE_CUDA_ARCHITECTURES)
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
                  OUTPUT_VARIABLE there ERROR_QUIET RESULT_VARIABLE failed)
  execute_process(COMMAND ${CUDAToolkit_NVCC_EXECUTABLE} --list-gpu-code
                  OUTPUT_VARIABLE known ERROR_QUIET)
  string(REGEX MATCHALL "[0-9]+\\.[0-9]" there "${there}")
  list(REMOVE_DUPLICATES there)
  set(CMAKE_CUDA_ARCHITECTURES "")
  foreach(capability ${there})
    string(REPLACE "." "" architecture ${capability})
    if(NOT failed AND architecture GREATER_EQUAL lowest AND known MATCHES "sm_${architecture}\n")
      list(APPEND CMAKE_CUDA_ARCHITECTURES ${architecture}-real)
    endif()
  endforeach()
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES ${lowest}-virtual)
  endif()
endif()
message(STATUS "CUDA architectures: ${CMAKE_CUDA_ARCHITECTURES}")
enable_language(CUDA)
set(CMAKE_CUDA_STANDARD 17)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
