"""Plots of benchmarks, costs and schedules."""
