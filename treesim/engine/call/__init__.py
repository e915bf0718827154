"""From a user's arrays to machine code and back: argument checks, batches, threads, fast calls, large results."""
