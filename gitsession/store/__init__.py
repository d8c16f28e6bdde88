"""Sessions, records and the spool as they are stored."""
