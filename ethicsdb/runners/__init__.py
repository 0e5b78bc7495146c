"""Make responses, verdicts and scores: backends, judges, parsers, statistics, imports."""
