"""Blocks of a graph computed by the workers of any executor, who see noisy vectors only."""
