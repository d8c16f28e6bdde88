"""Checks of what is kept, one module each: they take what was read and yield findings."""
