"""Commands for the store as a whole: imports, exports, backups, checks, costs, settings."""
