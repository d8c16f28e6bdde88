"""From a transcript that grew to a capture that is kept."""
