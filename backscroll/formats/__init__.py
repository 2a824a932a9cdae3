"""Other people's shapes, in and out. Pure: readers get a `Source`, writers give text; files are opened by the engine."""
