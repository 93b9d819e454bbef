"""The owner's side: the only room in which raw records are visible."""
