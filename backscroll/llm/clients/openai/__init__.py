"""OpenAI's SDK, which also serves those who imitate its wire: Chat Completions and Responses."""
