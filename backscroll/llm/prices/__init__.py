"""What calls cost, how large a window is, and whether a call may still be made."""
