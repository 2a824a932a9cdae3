"""What has to do with models: tokens, prices, the ledger, encoders, clients."""
