"""The only package that touches git."""
