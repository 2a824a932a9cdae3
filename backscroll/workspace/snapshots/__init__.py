"""Snapshots of a folder beside the user's repository, and bringing files back to one."""
