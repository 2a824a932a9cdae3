class CpuParams:
    n_threads: int

class CommonParamsModel:
    path: str

class CommonParams:
    model: CommonParamsModel
    model_alias: set[str]
    n_ctx: int
    n_parallel: int
    cpuparams: CpuParams
    cpuparams_batch: CpuParams
    hostnames: list[str]
    port: int
    api_keys: list[str]
    ui: bool
    endpoint_slots: bool
    verbosity: int

class Server:
    def __init__(self, params: CommonParams) -> None: ...
    @property
    def listening_address(self) -> str: ...
