"""Clients of model services: vendor-neutral requests and replies, error messages, retries, bounded streams.

`client` has the shapes; `anthropic` and `openai` are the vendors' wires through their SDKs. The choice of a service:
`llm/providers`.
"""
