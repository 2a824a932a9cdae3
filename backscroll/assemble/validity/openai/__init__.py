"""The rules of OpenAI's two wires: Chat Completions and Responses, each with the shape of single messages apart."""
