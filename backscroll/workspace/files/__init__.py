"""Safe files: access confined to one folder; listing, search, ignore rules, encodings."""
