"""Model calls made by other code: recording replies, capturing transcripts, message lists kept by a caller.

`replies` writes an answer and its price in one transaction; `capture` and `conversation` serve programs that call models themselves.
Requests are sent by `llm` and `agent`.
"""
