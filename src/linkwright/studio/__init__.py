"""The studio: a mechanism in the browser, played back or live, served by Viser."""
