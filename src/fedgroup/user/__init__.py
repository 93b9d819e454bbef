"""The user's side: what can be read from a noisy answer, and what to expect of one."""
