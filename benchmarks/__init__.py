"""Speed and memory beside other packages: ``python -m benchmarks`` from the project's root."""
