"""`python -m backscroll`: the command line, for when no script of that name is on the path."""

from backscroll.surfaces.cli.main import main

main()
