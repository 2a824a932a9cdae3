"""Commands for what models see: prompts, crops, recall, tools."""
