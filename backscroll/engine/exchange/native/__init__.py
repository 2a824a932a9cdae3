"""Native files: whole logs, exported and imported, verified before anything is written and imported only as far as they verify."""
