"""The conversation behind every commit, kept in git itself."""

# Not from `typing`: every hook's Python begins here.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitsession.library import Sessions
else:

    def __getattr__(name: str) -> object:
        """The Python API, imported when somebody asks for it."""
        if name == "Sessions":
            from gitsession.library import Sessions

            return Sessions
        raise AttributeError(f"module 'gitsession' has no attribute '{name}'")


__all__ = ["Sessions", "__version__"]
__version__ = "0.1.0"
