"""What a person's words refer to: names, ranges, dates, filters."""
