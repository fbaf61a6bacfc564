import pkgutil  # noqa: D104 - pydevd asks for exactly this preamble

__path__ = pkgutil.extend_path(__path__, __name__)
