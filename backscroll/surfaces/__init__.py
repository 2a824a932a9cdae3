"""The interfaces for users and programs: command line, chat, MCP server, adapters. They talk to the engine, never to a store or a pure room."""
