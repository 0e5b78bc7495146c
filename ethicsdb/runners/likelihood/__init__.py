"""Log-probabilities of given texts under local models: requests in, scores out, no database."""
