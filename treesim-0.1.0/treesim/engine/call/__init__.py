"""Calls of kernels with users' arrays: argument validation, batches, threads, fast calls, memory of large results."""
