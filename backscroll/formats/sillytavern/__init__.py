"""Chats of SillyTavern, both ways."""
