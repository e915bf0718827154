"""From a graph to machine code: LLVM IR on the lanes of vectors, straight-line or looped, compiled and kept on disk."""
