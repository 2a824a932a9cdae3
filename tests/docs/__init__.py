"""The documentation is run: what it shows is what happens."""
