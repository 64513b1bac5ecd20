"""The methods that MobILE is compared with."""
