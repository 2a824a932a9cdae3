"""What a question says about itself: times, names, words in the other language, and whether anything is about it."""
