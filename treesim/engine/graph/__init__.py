"""Graph of a kernel's operations for one robot: traces, basic blocks."""
