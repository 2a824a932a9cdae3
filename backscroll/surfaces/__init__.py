"""What people and programs meet: the command line and its words. Talks to the engine, never to a store or a pure room."""
