"""Read and write OpenAI's two wires as files: Chat messages and Responses items."""
