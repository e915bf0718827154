"""Operating system services: files, memory, processors, child processes, Ctrl-C, and representations of objects."""
