"""Pictures of benchmarks, costs and schedules."""
