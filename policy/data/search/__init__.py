"""Deep-search data: an entity graph from an encyclopedia, walks on it, questions about them."""
