"""The client of MCP servers: their tools and resources as tools of ours.

`servers` reads which are configured, `line` holds one connection, `pipe` and `address` are the two ways to a server, `questions` passes on what
a server asks the person. Our own MCP server lives in `surfaces/mcp`.
"""
