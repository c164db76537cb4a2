"""Extensions: formats, libraries and tools beside the core, registered as packages of others are."""
