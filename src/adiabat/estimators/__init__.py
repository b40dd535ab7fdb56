"""scikit-learn's manners over what the floors below can do."""
