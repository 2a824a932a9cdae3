"""Everything of a thread that a prompt is made from, read at one moment and no more than the budget can hold."""
