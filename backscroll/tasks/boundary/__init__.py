"""Where one task or topic ends and the next begins: signals, features, the learned weighing, reasons for people. Pure."""
