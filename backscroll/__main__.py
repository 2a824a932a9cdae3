"""Run the command line as `python -m backscroll`, for when its script is not on the path."""

from backscroll.surfaces.cli.main import main

main()
