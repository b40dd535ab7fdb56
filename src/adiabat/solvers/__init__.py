"""Problems solved from nothing."""
