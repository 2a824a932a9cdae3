"""Adapters: sessions, histories and hooks by which agents of other frameworks keep their conversation in a thread of ours."""
