"""Character cards of role-play programs: PNG, JSON and CHARX."""
