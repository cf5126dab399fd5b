# SPDX-License-Identifier: MIT
"""The page that scripts/report.py writes."""
