"""Compiler of the generic engine: translates a kernel's source to LLVM IR, once for all robots.

Kernels use a subset of Python: integers and floats, arrays of them, tuples, `if`, `for ... in range`,
`while`, and calls of other kernels. The syntax tree is traversed once for each combination of argument
types (`lowering`), and values are typed statically (`types`). Statements and expressions become
instructions (`statements`, `expressions`, `arrays`, `calls`). All functions that an entry calls become one
module (`module`), which LLVM inlines, optimises and compiles.
"""
