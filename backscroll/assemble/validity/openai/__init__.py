"""The rules of OpenAI's two wires: Chat Completions and Responses, with single messages validated separately."""
