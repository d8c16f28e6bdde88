"""One use case each; this is the public Python API."""
