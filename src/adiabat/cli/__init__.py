"""The command line: files in, words and files out."""
