"""Joint computation: sums nobody can take apart, and comparisons that show nothing but their outcome."""
