"""Entries: functions that run a kernel for many states, generated from a declaration of its arrays."""
