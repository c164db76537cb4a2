"""Space: geometry, frames by convention, and the time-indexed transform tree."""
