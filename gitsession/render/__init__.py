"""Values to text: nothing here reads or writes anything."""
