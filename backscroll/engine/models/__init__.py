"""Model calls about a conversation: asking, storing the answers, and which models wrote what.

`recipes` asks, `extraction` has turns read, `artefacts` and `usage` report what exists. What is due is decided in
`engine/background`. Rules serve until an answer arrives.
"""
