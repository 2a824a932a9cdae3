"""Commands for what models get to see: prompts, crops, recall, tools."""
