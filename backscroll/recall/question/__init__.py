"""Reading a question: times, names, words in the other language, and whether anything was said about it."""
