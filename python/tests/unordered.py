"""Reports whose rows have arrived in different orders."""

import json


def alike(report):
    """What a report says, whatever the order of its lists."""
    return _unordered(report.to_dict())


def _unordered(value):
    if isinstance(value, dict):
        return {name: _unordered(one) for name, one in value.items()}
    if isinstance(value, list):
        return sorted(map(_unordered, value), key=lambda one: json.dumps(one, sort_keys=True))
    return value
