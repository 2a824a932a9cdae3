"""The only place that wires: stores and pure rooms meet here, and the `Thread` that users hold lives here."""
