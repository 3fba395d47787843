"""Meshes of robot files: where they are, and their points and triangles."""
