"""The agent: a loop that thinks, calls tools and observes; the tools; asking before acting."""
