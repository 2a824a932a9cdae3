"""Read and write Claude Code transcripts: lines and the tree they form."""
