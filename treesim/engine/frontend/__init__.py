"""The compiler of the generic engine: a kernel's text becomes LLVM IR, once for all robots.

A kernel is plain Python of few kinds: whole and real numbers, arrays of them, tuples, `if`, `for ... in range`,
`while`, and calls of other kernels. Its syntax tree is walked once for each combination of its arguments' types
(`lowering`), values are known by their types alone (`types`), statements and expressions become instructions
(`statements`, `expressions`, `arrays`, `calls`), and all functions that an entry calls become one module (`module`),
which LLVM inlines, optimises and compiles in one go.
"""
