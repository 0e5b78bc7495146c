"""People's labels of a run's answers: blind sheets that are drawn at random, and their way back."""
