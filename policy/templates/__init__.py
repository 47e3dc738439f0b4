"""Chat templates that come with the library."""
