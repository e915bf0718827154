"""What a kernel computes for one robot, as a graph of operations: traces, derivatives, basic blocks."""
