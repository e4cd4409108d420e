"""Methods and settings that several experiments share."""
