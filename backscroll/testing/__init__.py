"""A scripted model: a real HTTP server for tests and demonstrations, without a network or a key.

`with ScriptedServer(scenario) as server:` speaks the wires of OpenAI (Chat Completions, Responses) and Anthropic (Messages).
"""

from backscroll.testing.scenario import Line, Scenario, load_scenario, scenario_of
from backscroll.testing.server import ScriptedServer

__all__ = ["Line", "Scenario", "ScriptedServer", "load_scenario", "scenario_of"]
