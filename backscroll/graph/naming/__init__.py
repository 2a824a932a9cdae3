"""Names: which ones belong to one node, referents of pronouns, evidence for names, bearers of forms of address."""
