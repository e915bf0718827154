"""What a kernel computes for one robot, as a graph of operations: primitives, traces, derivatives, basic blocks."""
