"""aider's chat history, read and written."""
