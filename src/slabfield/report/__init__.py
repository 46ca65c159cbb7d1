"""A posterior as one page: a file that opens in any browser, offline, and loads nothing."""

from __future__ import annotations

from slabfield.report.page import write_report

__all__ = ["write_report"]
