"""The Debug Adapter Protocol itself: framing, channels, tables of handlers, errors."""
