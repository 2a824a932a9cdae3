"""`backscroll.wrap`: a client of OpenAI's or Anthropic's SDK that remembers what passes through it.

`client` wraps, `streams` and `raw_responses` record what comes back, `closing` decides what closing a wrapper closes.
What is recorded goes through `engine/calls/capture`; nothing here knows a store.
"""
