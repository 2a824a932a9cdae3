"""Benchmarks, printed as tables. Run with `make bench`; nothing here is asserted in tests."""
