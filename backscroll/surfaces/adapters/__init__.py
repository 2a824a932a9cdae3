"""Adapters: sessions, histories and hooks with which agents of other frameworks keep their conversation in a thread."""
