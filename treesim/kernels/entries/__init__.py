"""Entries: functions that run a kernel for many states, made from a declaration of its arrays."""
