"""The pass over features on the CPU: compiled, tile by tile; features held, or computed again in every pass."""
