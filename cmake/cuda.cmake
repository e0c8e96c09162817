# CUDA, and the GPU architectures to build kernels for. -DCMAKE_CUDA_ARCHITECTURES=... sets them;
# releases use all-major, which makes machine code for every architecture and takes many times as
# long as one. The default is the GPUs of this machine, or without a GPU only PTX for the lowest
# architecture that the toolkit supports (at least 7.0, which the live kernel needs); the driver
# compiles PTX when it is first used.
if(CUDAToolkit_VERSION VERSION_LESS 13)
  set(lowest 70)
  set(every 70 75 80 86 89 90)
else()
  set(lowest 75)
  set(every all-major)
endif()
if(CMAKE_CUDA_ARCHITECTURES STREQUAL "all-major")
  set(CMAKE_CUDA_ARCHITECTURES ${every}) # the toolkit's all-major starts at 5.0 before version 13
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
