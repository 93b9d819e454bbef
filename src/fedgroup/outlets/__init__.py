"""Outlets: databases of others that released maps are written into. What is written here was released before."""
