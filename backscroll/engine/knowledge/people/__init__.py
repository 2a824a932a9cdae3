"""Users and projects across threads: what is known about them from all of their conversations."""
