"""What every store must do, written once and run on each of them."""
