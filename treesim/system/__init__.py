"""The operating system: files, memory, processors, child processes, Ctrl-C, and what prompts show of an object."""
