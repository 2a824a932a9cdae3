"""Read and write SillyTavern chats."""
