"""Graph of a kernel's operations for one robot: traces, derivatives, basic blocks."""
