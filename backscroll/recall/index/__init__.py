"""An index of texts in memory: words, vectors, and everything that is prepared once so that any number of questions can be asked."""
