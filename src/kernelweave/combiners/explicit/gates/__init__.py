"""Gates on explicit features: `Localized`."""
