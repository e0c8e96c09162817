/* SIMD_CLONES before a static function builds it once for each vector width of the
 * processor family and picks the widest when the program starts. (Static, since
 * clang 14 gives a cloned function no name that another file could call.) */
#ifndef HALO_SIMD_H
#define HALO_SIMD_H

#if defined(__x86_64__) && defined(HALO_TARGET_CLONES)
#define SIMD_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define SIMD_CLONES
#endif

#endif
