"""What a person sees: the console and its commands. The only package that imports textual."""
