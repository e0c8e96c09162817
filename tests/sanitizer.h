/* Which sanitizer a test is built with, by gcc and clang: 0 or 1. */
#ifndef HALO_TESTS_SANITIZER_H
#define HALO_TESTS_SANITIZER_H

#ifndef __has_feature /* clang's */
#define __has_feature(feature) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define SANITIZER_ADDRESS 1
#else
#define SANITIZER_ADDRESS 0
#endif

#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define SANITIZER_THREAD 1
#else
#define SANITIZER_THREAD 0
#endif

#endif
