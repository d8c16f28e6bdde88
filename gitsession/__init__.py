"""The conversation behind every commit, kept in git itself."""

__version__ = "0.1.0"
