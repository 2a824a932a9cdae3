"""Clients on OpenAI's SDK, also for services that imitate its wires: Chat Completions and Responses."""
