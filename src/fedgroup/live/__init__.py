"""The live roles: a provider and owners as asyncio processes over a network."""
