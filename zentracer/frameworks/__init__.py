"""Deep-learning frameworks, each loaded once the user has imported it."""
