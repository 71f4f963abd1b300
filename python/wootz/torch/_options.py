"""What a caller may say about a compilation."""
import dataclasses
import os

_PRECISIONS = ("fp16", "bf16", "int8", "fp8")


@dataclasses.dataclass(frozen=True)
class Options:
    """Options of torch.compile(..., options={...}), of compile() and of export().

    precision: types that layers may compute in beside the model's own: "fp16", "bf16", "int8", "fp8", or a tuple of them. Without it every
    operation is computed in the type that torch gives it. workspace: bytes that a kernel may use. optimization_level: 0 to 5.
    min_block_size: parts with fewer operations stay with torch. whole_graph: refuse a model of which a part would stay with torch.
    cache: a folder for plans, or False. check_weights: False for weights that nothing changes or replaces, which each call of
    torch.compile()'s model looks for otherwise. build: {key: value} for IBuilderConfig.set_option.
    """

    precision: tuple = ()
    workspace: int | None = None
    optimization_level: int | None = None
    min_block_size: int = 5
    whole_graph: bool = False
    cache: object = None
    build: tuple = ()
    check_weights: bool = True

    @classmethod
    def of(cls, given):
        """From a dictionary; ValueError for what is no option, or not with that value."""
        given = dict(given or {})
        known = {field.name for field in dataclasses.fields(cls)}
        if unknown := sorted(set(given) - known):
            raise ValueError(f"options: {', '.join(unknown)}: there are {', '.join(sorted(known))}")
        precision = given.get("precision", ())
        given["precision"] = tuple(sorted([precision] if isinstance(precision, str) else precision or ()))
        if bad := [p for p in given["precision"] if p not in _PRECISIONS]:
            raise ValueError(f"options: precision '{bad[0]}' is none of {', '.join(_PRECISIONS)}")
        level = given.get("optimization_level")
        if level is not None and level not in range(6):
            raise ValueError(f"options: optimization_level {level} is none of 0 to 5")
        given["build"] = tuple(sorted((str(k), str(v)) for k, v in dict(given.get("build") or {}).items()))
        return cls(**given)

    def built_with(self):
        """What of the options the plan depends on."""
        return repr((self.precision, self.workspace, self.optimization_level, self.build))

    def folder(self):
        """Where plans are kept; None: nowhere."""
        if self.cache is False:
            return None
        if self.cache is not None:
            return os.fspath(self.cache)
        base = os.environ.get("WOOTZ_CACHE")
        if base is None:
            base = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache"), "wootz")
        return os.path.join(base, "torch")
