"""Dialogue files: the plain JSON shape that some programs save after every call, both ways."""
