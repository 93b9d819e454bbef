"""The provider's side: what the curious party in the middle computes from noisy values alone."""
