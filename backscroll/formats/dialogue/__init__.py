"""Read and write dialogue files: the plain JSON shape that some programs save after every call."""
