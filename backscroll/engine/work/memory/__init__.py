"""What outlives tasks: memories, preferences that users stated, plans, and what people do to them."""
