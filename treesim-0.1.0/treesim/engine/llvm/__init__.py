"""Machine code from a graph: LLVM IR on SIMD lanes, straight-line or looped, compiled and cached on disk."""
