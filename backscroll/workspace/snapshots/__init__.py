"""Snapshots of a folder beside the user's repository, and restoring files from them."""
