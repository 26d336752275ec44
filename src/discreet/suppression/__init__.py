"""Local suppression: the few cells that still give somebody away are blanked."""
