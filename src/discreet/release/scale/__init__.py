"""The flow on engines: the same recipe, the same plan, on tables larger than memory."""
