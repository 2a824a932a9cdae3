"""The house style, kept by machine: what is not checked is a wish."""
