"""What the project needs to make itself; not part of what is installed."""
