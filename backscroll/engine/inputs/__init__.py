"""The inputs of a prompt: what is read from a thread in one view, no more than the budget can hold."""
