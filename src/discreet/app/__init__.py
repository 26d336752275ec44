"""The app: from a file to a release by looking and clicking, on one's own machine.

It is a face on the flow, and no second one: its state is a recipe on disk, and a release is made by
what `discreet protect` calls.
"""
