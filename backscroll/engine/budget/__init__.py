"""What a prompt or a call may take: token counts, prices, windows, the room for an answer, and what a caller asks for.

Reads the store's counts and the price tables. Refuses to decide what goes into a prompt: that is `engine/prompts`.
"""
