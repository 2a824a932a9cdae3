"""The client of MCP servers: their tools and resources as our tools.

`servers` reads the configuration, `line` holds one connection, `pipe` and `address` are the two transports, `questions` relays what
a server asks the user. Our own MCP server lives in `surfaces/mcp`.
"""
