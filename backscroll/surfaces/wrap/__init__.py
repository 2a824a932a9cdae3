"""`backscroll.wrap`: a client of OpenAI's or Anthropic's SDK whose calls are recorded.

`client` wraps, `streams` and `raw_responses` record responses, `closing` determines what closing a wrapper closes.
Recording goes through `engine/calls/capture`; nothing here knows a store.
"""
