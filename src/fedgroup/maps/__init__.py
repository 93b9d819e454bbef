"""Maps that were released: values, intervals and shapes, all of it post-processing that touches no record."""
