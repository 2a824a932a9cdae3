"""OpenAI's two wires as files: Chat messages and Responses items, both ways."""
