"""Conversion of messages to drawings, by a reader for each type, for the viewer and for exports."""
