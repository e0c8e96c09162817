/* SIMD_CLONES before a static function builds it for several vector widths. The widest one that the
 * processor supports is chosen at startup. The function must be static, as clang 14 does not export
 * cloned functions. */
#ifndef HALO_SIMD_H
#define HALO_SIMD_H

#if defined(__x86_64__) && defined(HALO_TARGET_CLONES)
#define SIMD_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define SIMD_CLONES
#endif

#endif
