"""The other ends of the adapter's wires: the editor, debugpy, the runtime."""
