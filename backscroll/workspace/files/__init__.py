"""Safe files: every access of an agent to the disk stays inside its folder; listing, searching, ignore rules, encodings."""
