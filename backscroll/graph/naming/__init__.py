"""Names: which are one node, whom a pronoun means, how much speaks for a name, who is called by it."""
