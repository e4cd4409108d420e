"""The results of experiments as tables, as JSON, as Markdown and as pages of `docs`."""
