"""Models and their services: tokens, prices, the ledger, encoders, clients."""
