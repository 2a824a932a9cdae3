"""Users and projects above threads: what is known of them over all of their conversations."""
