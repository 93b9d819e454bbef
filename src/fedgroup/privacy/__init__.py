"""Where privacy is made: noise (all randomness), release (the turnstile), budget (the rules of spending)."""
