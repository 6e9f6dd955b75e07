"""The rules of the house, one module each; tools/tidy runs them all."""
