"""HTML report of a posterior: one self-contained file that opens in any browser, offline."""

from __future__ import annotations

from slabfield.report.page import write_report

__all__ = ["write_report"]
