"""Numbers that are more than a rate of verdicts: from likelihoods or choices to scores with intervals."""
