"""What outlives tasks: memories, preferences that users stated, plans, and users' changes to them."""
