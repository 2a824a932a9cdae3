"""Write a conversation as a Markdown page. Write only."""
