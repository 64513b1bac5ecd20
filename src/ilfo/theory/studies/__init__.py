"""The studies that `ilfo theory` runs, one module each. All derive from `Study` in `base`."""
