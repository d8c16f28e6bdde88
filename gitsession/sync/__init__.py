"""Sessions travel with the repository: what goes where, and how what comes back is merged."""
