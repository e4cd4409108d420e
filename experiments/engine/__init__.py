"""How experiments are declared, found, and run cell by cell."""
