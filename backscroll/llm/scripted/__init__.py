"""A model that says what it was told to say: a real HTTP server for tests and demonstrations, without a network or a key.

`with ScriptedServer(scenario) as server:` speaks the wires of OpenAI (Chat Completions, Responses) and Anthropic (Messages).
"""

from backscroll.llm.scripted.scenario import Line, Scenario, load_scenario, scenario_of
from backscroll.llm.scripted.server import ScriptedServer

__all__ = ["Line", "Scenario", "ScriptedServer", "load_scenario", "scenario_of"]
