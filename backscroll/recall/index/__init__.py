"""An in-memory index of texts: words, vectors, and everything that is prepared once for any number of questions."""
