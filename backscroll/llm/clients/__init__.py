"""Clients of model services: what is asked and answered whatever the vendor, faults in words, retries, streams with bounds.

`client` has the shapes; `anthropic` and `openai` are the vendors' wires through their SDKs. Which service is asked is decided in `llm/providers`.
"""
